import {type ChildProcess, spawn} from 'node:child_process'
import {once} from 'node:events'
import {fileURLToPath} from 'node:url'
import test from 'ava'
import type {Config} from '../shared/config.ts'

const entry = fileURLToPath(new URL('../workers/start.ts', import.meta.url))

/** A worker process of its own, as the Procfile starts it: to be killed, stopped and asked to leave. Its log is its stdout where a `LOG_LEVEL` is given. */
export const startWorker = (config: Config, environment: Record<string, string> = {}, names = ['imports']): ChildProcess => {
  const {DATABASE_URL, STORAGE_DIR, CRM_STANDIN_URL, LEASE_SECONDS, CRM_TIMEOUT_SECONDS} = config
  return spawn(process.execPath, [entry, ...names], {
    stdio: ['ignore', environment.LOG_LEVEL ? 'pipe' : 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...{NODE_ENV: 'test', LOG_LEVEL: 'silent', DATABASE_URL: DATABASE_URL!, STORAGE_DIR, CRM_STANDIN_URL: CRM_STANDIN_URL!},
      ...{LEASE_SECONDS: String(LEASE_SECONDS), CRM_TIMEOUT_SECONDS: String(CRM_TIMEOUT_SECONDS), DRAIN_SECONDS: '5', ...environment},
    },
  })
}

/** How a test file starts `imports` workers that end after each of its tests. */
export const openWorkers = (configOf: () => Config) => {
  const started: ChildProcess[] = []
  test.afterEach.always('workers end', async () => void (await Promise.all(started.splice(0).map(endWorker))))
  return (environment: Record<string, string> = {}): ChildProcess => {
    const worker = startWorker(configOf(), environment)
    started.push(worker)
    return worker
  }
}

export const endWorker = async (worker: ChildProcess) => {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  worker.kill('SIGCONT')
  worker.kill('SIGKILL')
  await once(worker, 'exit')
}
