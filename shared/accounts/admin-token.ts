import {createHash, timingSafeEqual} from 'node:crypto'
import type {Config} from '../config.ts'

/**
 * Returns whether a bearer is the deployment operator's token. Digests are compared, so the response time reveals neither content nor length.
 */
export const isAdminToken = ({ADMIN_TOKEN}: Pick<Config, 'ADMIN_TOKEN'>, bearer: string): boolean =>
  ADMIN_TOKEN !== undefined && timingSafeEqual(digest(ADMIN_TOKEN), digest(bearer))

export const mayScrape = ({METRICS_TOKEN, ADMIN_TOKEN}: Pick<Config, 'METRICS_TOKEN' | 'ADMIN_TOKEN'>, bearer: string): boolean =>
  [METRICS_TOKEN, ADMIN_TOKEN].some(token => token !== undefined && timingSafeEqual(digest(token), digest(bearer)))

const digest = (text: string) => createHash('sha256').update(text).digest()
