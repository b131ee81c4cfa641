import type {ChildProcess} from 'node:child_process'
import {createInterface} from 'node:readline'
import type {Deployment} from '../support/deployment.ts'
import {endWorker, startWorker} from '../support/worker-spawn.ts'
import type {Stage} from './scenario.ts'

/** Starts a worker process for imports and the archive. A violation is reported if the process exits before the scenario stops it. */
export const standWorker = async ({config}: Deployment, stage: Stage, environment: Record<string, string> = {}): Promise<ChildProcess> => {
  const worker = startWorker(config, {LOG_LEVEL: 'info', CRM_SLOTS: String(config.CRM_SLOTS), ...environment}, ['imports', 'archive'])
  const working = Promise.withResolvers<void>()
  createInterface(worker.stdout!).on('line', line => {
    stage.logged(line)
    if (line.includes('"working"')) working.resolve()
  })
  const died = (code: number | null, signal: string | null) => {
    stage.expect(false, `a worker died: ${code ?? signal}`)
    working.reject(new Error('A worker died as it started'))
  }
  worker.once('exit', died)
  stage.begun(async () => {
    worker.off('exit', died)
    await endWorker(worker)
  })
  await working.promise
  return worker
}
