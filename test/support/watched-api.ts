import {fork} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'

/**
 * The API in a child process with a timer in its main thread. `longestTurn` returns the most processor time in ms that this thread used
 * between two timer calls since the previous `longestTurn`. Processor time is used because other processes delay a timer too.
 */
export type WatchedApi = {url: string; longestTurn(): Promise<number>; stop(): Promise<void>}

type WatchedCalls = {url: string} | {longestTurn: number}

export const startWatchedApi = async (environment: Record<string, string>): Promise<WatchedApi> => {
  const child = fork(fileURLToPath(import.meta.url), [], {env: {...process.env, PORT: '0', ...environment}, execArgv: [], silent: true})
  let output = ''
  for (const stream of [child.stdout!, child.stderr!]) stream.setEncoding('utf8').on('data', text => (output += text))
  const exit = once(child, 'exit')
  const hear = async (): Promise<WatchedCalls> => {
    const ended = exit.then(() => {
      throw new Error(`The API ended: ${output}`)
    })
    return (await Promise.race([once(child, 'message'), ended]))[0]
  }
  const started = (await hear()) as {url: string}
  return {
    url: started.url,
    longestTurn: async () => {
      const heard = hear()
      child.send('longestTurn')
      return ((await heard) as {longestTurn: number}).longestTurn
    },
    stop: async () => {
      child.kill()
      await exit
    },
  }
}

/** Serves the API in the child process. */
const serve = async () => {
  const {listen} = await import('../../api/listen.ts')
  const {openTools} = await import('../../api/open-deps.ts')
  const {readConfig} = await import('../../shared/config.ts')
  const {openLog} = await import('../../shared/telemetry/log.ts')
  const config = readConfig()
  const tools = await openTools(config, openLog('api', config.LOG_LEVEL))
  const {url, drain} = await listen(tools)
  let [longest, before] = [0, process.threadCpuUsage()]
  setInterval(() => {
    const {user, system} = process.threadCpuUsage(before)
    longest = Math.max(longest, (user + system) / 1000)
    before = process.threadCpuUsage()
  }, 2)
  process.on('message', () => {
    process.send!({longestTurn: longest})
    longest = 0
  })
  process.on('SIGTERM', async () => {
    await drain()
    await tools.close()
    process.exit(0)
  })
  process.send!({url})
}

if (import.meta.main) await serve()
