import type {ExecutionContext} from 'ava'
import {readConfig} from '../../../../shared/config.ts'
import {type FileSource, fetchSource, SourceFailure} from '../../../../shared/schedules/fetch/main.ts'
import {openOutbound} from '../../../../shared/schedules/outbound/outbound.ts'
import {collect} from '../../files/chunks.ts'

type Options = {privateHosts?: string; sourceHosts?: string; ca?: string}

/** Opens an outbound client that may reach the stand-ins of the test. */
export const openDoor = (t: ExecutionContext<any>, {privateHosts = '', sourceHosts = '*', ca}: Options) => {
  const config = readConfig({PRIVATE_HOSTS: privateHosts, SOURCE_HOSTS: sourceHosts})
  const outbound = openOutbound(config, {resolve: async () => ['127.0.0.1'], ...(ca !== undefined && {ca})})
  t.teardown(outbound.close)
  const fetch = async (
    source: FileSource,
    bounds: {limitBytes?: number; mostRows?: number; timeoutSeconds?: number; signal?: AbortSignal} = {},
  ) => {
    const {name, stream} = await fetchSource(outbound, source, {limitBytes: 100_000_000, ...bounds})
    return {name, content: await collect(stream)}
  }
  /** Returns the failure with code and message, or null if the source was fetched. */
  const failure = async (source: FileSource, bounds: Parameters<typeof fetch>[1] = {}) => {
    try {
      await fetch(source, bounds)
      return null
    } catch (error) {
      if (error instanceof SourceFailure) return {code: error.code, message: error.message}
      throw error
    }
  }
  return {outbound, fetch, failure}
}
