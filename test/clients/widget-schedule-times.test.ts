import test from 'ava'
import {describeCron, readCron, type Times, toCron} from '../../api/clients/widget/templates/cron-times.ts'

test('times of the pickers become a cron, and the cron becomes the same times again', t => {
  const cases: [Times, string][] = [
    [{repeat: 'daily', time: '05:00'}, '0 5 * * *'],
    [{repeat: 'daily', time: '23:45'}, '45 23 * * *'],
    [{repeat: 'weekly', time: '06:30', days: [1, 5]}, '30 6 * * 1,5'],
    [{repeat: 'weekly', time: '06:30', days: [0]}, '30 6 * * 0'],
    [{repeat: 'monthly', time: '00:05', monthDay: '31'}, '5 0 31 * *'],
    [{repeat: 'monthly', time: '00:05', monthDay: 'L'}, '5 0 L * *'],
  ]
  for (const [times, cron] of cases) {
    t.is(toCron(times), cron)
    t.deepEqual(readCron(cron), times)
  }
  t.deepEqual(readCron('0 5 * * 1-5'), {repeat: 'weekly', time: '05:00', days: [1, 2, 3, 4, 5]})
  t.deepEqual(readCron('0 5 * * 6-7'), {repeat: 'weekly', time: '05:00', days: [6, 0]})
})

test('a cron that the pickers cannot show stays as it is written', t => {
  for (const cron of ['*/15 * * * *', '0 8,18 * * *', '0 5 1 * 1', '0 5 * 6 *', '0 5 * * MON#1', '0 5 * * MON', '0 5 0 * *', '0 5 * *']) {
    t.is(readCron(cron).repeat, 'advanced', cron)
    t.is(toCron(readCron(cron)), cron)
    t.is(describeCron(cron, 'en'), cron)
  }
})

test('a cron is described in words', t => {
  t.is(describeCron('0 5 * * *', 'en'), 'Every day at 05:00')
  t.is(describeCron('30 6 * * 1', 'en'), 'Monday at 06:30')
  t.is(describeCron('30 6 * * 0,1,5', 'en'), 'Mon, Fri, Sun at 06:30')
  t.is(describeCron('0 5 1 * *', 'en'), 'Day 1 of each month at 05:00')
  t.is(describeCron('0 5 L * *', 'en'), 'Last day of each month at 05:00')
})
