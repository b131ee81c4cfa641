import {setTimeout as sleep} from 'node:timers/promises'
import {warnOfStaffAddresses} from '../shared/accounts/staff.ts'
import {logSellingProblems} from '../shared/billing/verify/selling.ts'
import {readConfig} from '../shared/config.ts'
import {armFault} from '../shared/fault-point.ts'
import {openLog} from '../shared/telemetry/log.ts'
import {openTracing} from '../shared/telemetry/tracing.ts'
import {listen} from './listen.ts'
import {openTools} from './open-deps.ts'

const closeWithinMs = 5000
const config = readConfig()
const log = openLog('api', config.LOG_LEVEL)

const die = (error: unknown) => {
  log.fatal({err: error}, 'the API stops after an unexpected error')
  process.exit(1)
}
process.on('uncaughtException', die).on('unhandledRejection', die)

if (config.NODE_ENV !== 'production') armFault(config.FAULT_POINT)
const tracing = await openTracing(config, {log, part: 'api'})
const tools = await openTools(config, log)
const {url, drain} = await listen(tools)
log.info({url}, 'listening')
void logSellingProblems(tools)
void warnOfStaffAddresses(tools).catch(error => log.warn({err: error}, 'could not look for staff entries without an account'))

let isDraining = false
const stop = async (signal: string) => {
  if (isDraining) process.exit(1)
  isDraining = true
  log.info({signal}, 'draining')
  await drain()
  // A handler that never ends may still use a database connection, so closing has a time limit.
  await Promise.race([tools.close().then(tracing.close), sleep(closeWithinMs)])
  log.info('stopped')
  process.exit(0)
}
process.on('SIGTERM', stop).on('SIGINT', stop)
