import {createHash, timingSafeEqual} from 'node:crypto'
import type {Config} from '../config.ts'

/** Whether a bearer is the operator's. Digests are compared, so neither the time nor the length of it tells anything. */
export const isAdminToken = ({ADMIN_TOKEN}: Pick<Config, 'ADMIN_TOKEN'>, bearer: string): boolean =>
  ADMIN_TOKEN !== undefined && timingSafeEqual(digest(ADMIN_TOKEN), digest(bearer))

/** Whether a bearer may read figures and nothing else: the one whoever scrapes is given, or the operator's. */
export const mayScrape = ({METRICS_TOKEN, ADMIN_TOKEN}: Pick<Config, 'METRICS_TOKEN' | 'ADMIN_TOKEN'>, bearer: string): boolean =>
  [METRICS_TOKEN, ADMIN_TOKEN].some(token => token !== undefined && timingSafeEqual(digest(token), digest(bearer)))

const digest = (text: string) => createHash('sha256').update(text).digest()
