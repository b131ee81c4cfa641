import {type ChildProcess, execFile, spawn} from 'node:child_process'
import {once} from 'node:events'
import {readFileSync} from 'node:fs'
import {fileURLToPath} from 'node:url'
import {promisify} from 'node:util'
import type {Config} from '../../shared/config.ts'
import {readProcfile} from '../stack/procfile.ts'

const entry = fileURLToPath(new URL('../../workers/start.ts', import.meta.url))
const lines = readProcfile(readFileSync(new URL('../../Procfile', import.meta.url), 'utf8'))

/** Returns the flags that the Procfile gives to the process of the first name. */
const flagsOf = ([name]: string[]) => lines.find(line => line.name === name)?.command.filter(word => word.startsWith('--')) ?? []

/** Starts a worker process as the Procfile does, which a test can kill. With `LOG_LEVEL`, its log goes to stdout. */
export const startWorker = (config: Config, environment: Record<string, string> = {}, names = ['imports']): ChildProcess => {
  const {DATABASE_URL, STORAGE_DIR, CRM_STANDIN_URL, LEASE_SECONDS, CRM_TIMEOUT_SECONDS, CRM_LAG_SECONDS} = config
  return spawn(process.execPath, [...flagsOf(names), entry, ...names], {
    stdio: ['ignore', environment.LOG_LEVEL ? 'pipe' : 'ignore', 'inherit'],
    env: {
      ...process.env,
      NODE_ENV: 'test',
      LOG_LEVEL: 'silent',
      DATABASE_URL: DATABASE_URL!,
      STORAGE_DIR,
      CRM_STANDIN_URL: CRM_STANDIN_URL!,
      LEASE_SECONDS: String(LEASE_SECONDS),
      CRM_TIMEOUT_SECONDS: String(CRM_TIMEOUT_SECONDS),
      CRM_LAG_SECONDS: String(CRM_LAG_SECONDS),
      DRAIN_SECONDS: '5',
      ...environment,
    },
  })
}

export const endWorker = async (worker: ChildProcess) => {
  if (worker.exitCode !== null || worker.signalCode !== null) return
  // The worker may exit on its own while it is woken.
  const exit = once(worker, 'exit')
  await wakeWorker(worker)
  worker.kill('SIGKILL')
  await exit
}

/** Waits until the worker has exited. Returns at once if it has exited already, for which `once` would wait for ever. */
export const untilExit = async (worker: ChildProcess): Promise<void> => {
  if (worker.exitCode === null && worker.signalCode === null) await once(worker, 'exit')
}

/** Lists the process ids of the worker and of its child processes, such as one that executes a run under crash isolation. */
export const processesOf = async ({pid}: ChildProcess): Promise<number[]> => {
  // `pgrep` exits with 1 if there are no child processes.
  const {stdout} = await promisify(execFile)('pgrep', ['-P', String(pid)]).catch(() => ({stdout: ''}))
  return [pid!, ...stdout.split('\n').filter(Boolean).map(Number)]
}

export const wakeWorker = async (worker: ChildProcess) => {
  for (const pid of await processesOf(worker)) {
    try {
      process.kill(pid, 'SIGCONT')
    } catch (error) {
      // A process that has ended in the meantime is no error.
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
}
