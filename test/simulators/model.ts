import type {AddressInfo} from 'node:net'
import {runAlone} from './model/command-line.ts'
import {openServer} from './model/server.ts'
import {createSimulator, type Simulator, type SimulatorOptions} from './model/simulator.ts'

export type ModelOptions = SimulatorOptions & {host?: string; port?: number}

export type ModelSimulator = Simulator & {
  /** The value of MODEL_URL for both wire formats. */
  url: string
  stop: () => Promise<void>
}

/** Starts the model stand-in on the loopback interface. Port 0, the default, uses any free port. */
export const startModel = async ({host = '127.0.0.1', port = 0, ...options}: ModelOptions = {}): Promise<ModelSimulator> => {
  const standIn = createSimulator(options)
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

/** Returns the environment of a deployment that uses the stand-in. */
export const modelEnvironment = ({url, key}: Pick<ModelSimulator, 'url' | 'key'>, kind: 'openai' | 'anthropic' = 'openai') => ({
  MODEL_KIND: kind,
  MODEL_URL: url,
  MODEL_API_KEY: key,
  MODEL_NAME: kind === 'openai' ? 'stand-in' : 'claude-stand-in',
})

if (import.meta.main) await runAlone(startModel)
