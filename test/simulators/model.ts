import type {AddressInfo} from 'node:net'
import {runAlone} from './model/command-line.ts'
import {openServer} from './model/server.ts'
import {createStandIn, type StandIn, type StandInOptions} from './model/stand-in.ts'

export type ModelOptions = StandInOptions & {host?: string; port?: number}

export type ModelStandIn = StandIn & {
  /** As MODEL_URL has it, for both kinds. */
  url: string
  /** Ends every call and closes the port. */
  stop: () => Promise<void>
}

/** Starts the model's stand-in on the loopback interface; port 0, the default, takes any free one. */
export const startModel = async ({host = '127.0.0.1', port = 0, ...options}: ModelOptions = {}): Promise<ModelStandIn> => {
  const standIn = createStandIn(options)
  const server = await openServer(standIn, {host, port})
  const stop = async () => {
    standIn.faults.release()
    const {promise, resolve} = Promise.withResolvers<void>()
    server.close(() => resolve())
    server.closeAllConnections()
    await promise
  }
  return Object.assign(standIn, {url: `http://${host}:${(server.address() as AddressInfo).port}/v1`, stop})
}

/** What a deployment is told of it. */
export const modelEnvironment = ({url, key}: Pick<ModelStandIn, 'url' | 'key'>, kind: 'openai' | 'anthropic' = 'openai') => ({
  ...{MODEL_KIND: kind, MODEL_URL: url, MODEL_API_KEY: key},
  MODEL_NAME: kind === 'openai' ? 'stand-in' : 'claude-stand-in',
})

if (import.meta.main) await runAlone(startModel)
