import {parseArgs} from 'node:util'
import type {ModelOptions, ModelSimulator} from '../model.ts'

const usage = 'node test/simulators/model.ts [--port 4030] [--host 127.0.0.1] [--key TEXT] [--pace MS]'

/** Runs the stand-in as a process: prints its address, and stops on SIGTERM and SIGINT. */
export const runAlone = async (start: (options: ModelOptions) => Promise<ModelSimulator>) => {
  const options = readOptions(process.argv.slice(2))
  if (!options) {
    console.error(usage)
    process.exitCode = 2
    return
  }
  const model = await start(options)
  console.log(model.url)
  const end = () => void model.stop().then(() => process.exit(0))
  process.once('SIGTERM', end)
  process.once('SIGINT', end)
}

const readOptions = (args: string[]): ModelOptions | null => {
  try {
    const {values} = parseArgs({
      args,
      options: {
        port: {type: 'string', default: '4030'},
        host: {type: 'string', default: '127.0.0.1'},
        key: {type: 'string'},
        pace: {type: 'string', default: '0'},
      },
    })
    const {port, host, key, pace} = values
    return {port: Number(port), host, paceMs: Number(pace), ...(key === undefined ? {} : {key})}
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    return null
  }
}
