import {existsSync, unwatchFile, watchFile} from 'node:fs'
import {join} from 'node:path'
import type {Middleware} from 'koa'
import type {Config} from '../shared/config.ts'
import {Refusal} from '../shared/errors.ts'
import {isOperator, isScraper} from './backoffice.ts'

export type Maintenance = {isOn(): boolean; close(): void}

const lookEveryMs = 500
const EXEMPT = ['/health', '/robots.txt']
const DELETES_PERSON = /^\/staff\/people\/[^/]+\/delete$/

/** The operator's switch: on while this file is there. */
export const switchOf = ({STORAGE_DIR}: Pick<Config, 'STORAGE_DIR'>) => join(STORAGE_DIR, 'maintenance')

/** On by MAINTENANCE, or while the file `maintenance` is in the storage folder. Looked at beside the requests, never during one. */
export const watchMaintenance = ({MAINTENANCE, STORAGE_DIR}: Pick<Config, 'MAINTENANCE' | 'STORAGE_DIR'>): Maintenance => {
  const path = switchOf({STORAGE_DIR})
  let there = existsSync(path)
  const look = ({nlink}: {nlink: number}) => {
    there = nlink > 0
  }
  // By stat and not by notification: storage may be a network disk.
  watchFile(path, {interval: lookEveryMs, persistent: false}, look)
  return {isOn: () => MAINTENANCE || there, close: () => unwatchFile(path, look)}
}

/** Before anything is read: no header, no row, no byte of the body. The operator may delete a person all the same, and figures are scraped. */
export const refuseInMaintenance =
  (config: Pick<Config, 'ADMIN_TOKEN' | 'METRICS_TOKEN'>, {isOn}: Pick<Maintenance, 'isOn'>): Middleware =>
  (ctx, next) => {
    if (!isOn() || EXEMPT.includes(ctx.path)) return next()
    if (ctx.method === 'POST' && DELETES_PERSON.test(ctx.path) && isOperator(config, ctx.get('authorization'))) return next()
    if (ctx.path === '/metrics' && isScraper(config, ctx.get('authorization'))) return next()
    ctx.set('retry-after', '300')
    throw new Refusal('MAINTENANCE', 'Lading is being maintained. Try again in a few minutes')
  }
