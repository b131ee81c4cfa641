import {Worker} from 'node:worker_threads'
import {Refusal} from '../errors.ts'
import {unpackError} from './failure.ts'
import type {TaskName, TaskOutput} from './tasks.ts'
import type {Answer, Request, ThreadData} from './thread.ts'

/** A parser thread seen from outside: given one task at a time, and ended if the task takes too much time or memory. */
export type ParserThread = ReturnType<typeof startThread>

type Limits = {memoryMb: number; seconds: number}
type Died = {died: 'time' | 'memory' | 'other'; cause?: unknown}

export const startThread = (data: ThreadData, {memoryMb, seconds}: Limits) => {
  const resourceLimits = {maxOldGenerationSizeMb: memoryMb}
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {workerData: data, execArgv: [], resourceLimits})
  worker.unref()
  let isAlive = true
  let death: Died = {died: 'other'}
  let settle = (_: Answer | Died) => {}
  worker.on('error', cause => {
    death = {died: 'code' in cause && cause.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : 'other', cause}
  })
  worker.on('message', answer => settle(answer))
  const ended = new Promise<void>(resolve =>
    worker.once('exit', () => {
      isAlive = false
      settle(death)
      resolve()
    }),
  )

  const run = async (request: Request): Promise<TaskOutput<TaskName>> => {
    const {promise, resolve} = Promise.withResolvers<Answer | Died>()
    settle = resolve
    if (!isAlive) settle(death)
    worker.ref()
    worker.postMessage(request)
    const deadline = setTimeout(() => {
      death = {died: 'time'}
      void worker.terminate()
    }, seconds * 1000)
    const answer = await promise
    clearTimeout(deadline)
    worker.unref()
    if ('output' in answer) return answer.output
    throw 'failure' in answer ? unpackError(answer.failure) : describeDeath(answer, {memoryMb, seconds})
  }

  const end = async () => {
    await worker.terminate()
    await ended
  }
  return {run, isAlive: () => isAlive, end}
}

const describeDeath = ({died, cause}: Died, {memoryMb, seconds}: Limits): Error => {
  if (died === 'time')
    return new Refusal('FILE_TOO_SLOW', `The file took longer than ${seconds} s to read. Split it, or remove slow cleaning steps`)
  if (died === 'memory')
    return new Refusal(
      'UNREADABLE',
      `The file takes more than the ${memoryMb} MB of memory that reading a file may use. Split it, or remove cleaning steps`,
    )
  return new Error('A parser thread ended', {cause})
}
