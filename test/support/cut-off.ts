import type {ExecutionContext} from 'ava'
import {listen} from '../../api/listen.ts'
import {openTools} from '../../api/open-deps.ts'
import {readConfig} from '../../shared/config.ts'
import {openLog} from '../../shared/telemetry/log.ts'
import {createDatabase} from './database.ts'
import {openProxy} from './tcp-proxy.ts'

/** Starts an API for one test. A proxy between the API and its Postgres can cut the connections. */
export const openCutOff = async (t: ExecutionContext, environment: Record<string, string> = {}) => {
  const database = await createDatabase(t.title)
  const proxy = await openProxy(database.url)
  const own = {NODE_ENV: 'test', DATABASE_URL: proxy.url, PORT: '0', LOG_LEVEL: 'silent', DRAIN_SECONDS: '1'}
  const tools = await openTools(readConfig({...own, ...environment}), openLog('test', 'silent'))
  const api = await listen(tools)
  t.teardown(async () => {
    await api.drain()
    await tools.close()
    await proxy.close()
    await database.drop()
  })
  return {api, tools, proxy, database}
}
