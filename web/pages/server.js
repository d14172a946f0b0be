// The server behind it all.
import { h, put } from '../dom.js';
import { t } from '../words.js';
import { me } from '../api.js';
import { bytes, percent, rate } from '../format.js';
import { bar, card, facts } from '../widgets.js';
import { allPoints } from '../history.js';
import { BINARY, plot } from '../plot.js';

export default {
  name: 'server',
  needs: 'status',
  async show(view) {
    const about = h('div');
    const memory = plot({ title: t('memory'), format: bytes, steps: BINARY, lines: [{ key: 'memory', name: t('used') }] });
    const commands = plot({ title: t('commands'), format: rate, lines: [{ key: 'commands', name: t('a second') }] });
    view.show(view.title(t('server')), card(null, about), h('div', { class: 'plots' }, memory.element, commands.element),
      h('p', { class: 'quiet' }, 'tackle ' + me().version));
    view.onSample(({ server }) => {
      put(about, server.error ? h('p', { class: 'problem' }, server.message) : [
        server.memory_max ? h('p', {}, t('memory'), ' ', percent(server.memory / server.memory_max), ' ', bar(server.memory / server.memory_max)) : null,
        facts(server)]);
      memory.update(allPoints());
      commands.update(allPoints());
    });
  },
};
