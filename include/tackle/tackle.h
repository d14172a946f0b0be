/* SPDX-License-Identifier: MIT
 *
 * Everything: one include for programs that use several components.
 */
#ifndef TACKLE_H
#define TACKLE_H

#include <tackle/ads.h>
#include <tackle/bits.h>
#include <tackle/blist.h>
#include <tackle/bloom.h>
#include <tackle/board.h>
#include <tackle/book.h>
#include <tackle/cache.h>
#include <tackle/channel.h>
#include <tackle/chat.h>
#include <tackle/client.h>
#include <tackle/common.h>
#include <tackle/config.h>
#include <tackle/counter.h>
#include <tackle/cron.h>
#include <tackle/files.h>
#include <tackle/functions.h>
#include <tackle/geo.h>
#include <tackle/hold.h>
#include <tackle/ip.h>
#include <tackle/leader.h>
#include <tackle/limit.h>
#include <tackle/lock.h>
#include <tackle/log.h>
#include <tackle/loop.h>
#include <tackle/mail.h>
#include <tackle/message.h>
#include <tackle/online.h>
#include <tackle/overview.h>
#include <tackle/queue.h>
#include <tackle/recent.h>
#include <tackle/redlock.h>
#include <tackle/scan.h>
#include <tackle/schedule.h>
#include <tackle/script.h>
#include <tackle/search.h>
#include <tackle/semaphore.h>
#include <tackle/service.h>
#include <tackle/session.h>
#include <tackle/stats.h>
#include <tackle/suggest.h>
#include <tackle/text.h>
#include <tackle/unique.h>
#include <tackle/version.h>
#include <tackle/worker.h>

#endif
