import {setTimeout as sleep} from 'node:timers/promises'
import type {Middleware} from 'koa'
import type {Config} from '../shared/config.ts'
import {Refusal} from '../shared/errors.ts'
import type {Log} from '../shared/telemetry/log.ts'
import type {Hot} from '../sql/database.ts'
import {readMaintenanceSwitch} from '../sql/maintenance.ts'
import {isOperator} from './backoffice.ts'

export type Maintenance = {isOn(): boolean; close(): Promise<void>}

const readEveryMs = 1000
const EXEMPT = ['/health', '/robots.txt']
const DELETES_PERSON = /^\/staff\/people\/[^/]+\/delete$/

type MaintenanceDeps = {config: Pick<Config, 'MAINTENANCE'>; hot: Hot; log: Log}

/**
 * Watches whether the API is in maintenance. The setting MAINTENANCE enables maintenance in one process, the switch in the database in all processes.
 * The switch is read before the first request and then every second. If the database does not answer, the last known state remains.
 */
export const watchMaintenance = async ({config: {MAINTENANCE}, hot, log}: MaintenanceDeps): Promise<Maintenance> => {
  const read = async () => (await readMaintenanceSwitch(hot, [])).length > 0
  let isSwitchedOn = await read()
  const closing = new AbortController()
  const watch = async () => {
    while (await sleep(readEveryMs, true, {signal: closing.signal, ref: false}).catch(() => false)) {
      try {
        isSwitchedOn = await read()
      } catch (error) {
        log.debug({err: error}, 'could not read the maintenance switch')
      }
    }
  }
  const watching = watch()
  const close = async () => {
    closing.abort()
    await watching
  }
  return {isOn: () => MAINTENANCE || isSwitchedOn, close}
}

/**
 * Refuses requests during maintenance, before any query and before the body is read. Only `/health`, `/robots.txt` and the operator's deletion
 * of a person pass. A CORS preflight is answered earlier, so that pages of other origins can read the refusal.
 */
export const refuseInMaintenance =
  (config: Pick<Config, 'ADMIN_TOKEN'>, {isOn}: Pick<Maintenance, 'isOn'>): Middleware =>
  (ctx, next) => {
    if (!isOn() || EXEMPT.includes(ctx.path)) return next()
    if (ctx.method === 'POST' && DELETES_PERSON.test(ctx.path) && isOperator(config, ctx.get('authorization'))) return next()
    ctx.set('retry-after', '300')
    throw new Refusal('MAINTENANCE', 'Lading is being maintained. Try again in a few minutes')
  }
