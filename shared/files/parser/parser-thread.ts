import {type MessagePort, Worker} from 'node:worker_threads'
import {Refusal} from '../../errors.ts'
import {unpackError} from './failure.ts'
import {streamInThread} from './stream-in-thread.ts'
import type {StreamItems, TaskName, TaskOutput} from './tasks.ts'
import type {Answer, StreamRequest, TaskRequest, ThreadData} from './thread.ts'

/** The thread runs one task at a time and is ended if a task exceeds its time or memory. */
export type ParserThread = ReturnType<typeof startParserThread>

type Limits = {memoryMb: number; seconds: number}
type ThreadDeath = {died: 'time' | 'memory' | 'other'; cause?: unknown}

export const startParserThread = (data: ThreadData, {memoryMb, seconds}: Limits) => {
  const resourceLimits = {maxOldGenerationSizeMb: memoryMb}
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {workerData: data, execArgv: [], resourceLimits})
  worker.unref()
  let isAlive = true
  let death: ThreadDeath = {died: 'other'}
  let settle = (_: Answer | ThreadDeath) => {}
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

  /** This timer ends the thread. Each item and each output chunk of a stream restarts the timer. */
  let deadline: NodeJS.Timeout | undefined

  const ask = async (request: TaskRequest | StreamRequest, ports: MessagePort[] = []) => {
    const {promise, resolve} = Promise.withResolvers<Answer | ThreadDeath>()
    settle = resolve
    if (!isAlive) settle(death)
    worker.ref()
    worker.postMessage(request, ports)
    deadline = setTimeout(() => {
      death = {died: 'time'}
      void worker.terminate()
    }, seconds * 1000)
    const answer = await promise
    clearTimeout(deadline)
    deadline = undefined
    worker.unref()
    if ('output' in answer) return answer.output
    throw 'failure' in answer ? unpackError(answer.failure) : describeDeath(answer, {memoryMb, seconds})
  }

  const run = async (request: TaskRequest) => (await ask(request)) as TaskOutput<TaskName>

  const stream = (request: Omit<StreamRequest, 'ports'>, items: StreamItems) =>
    streamInThread({ask, refresh: () => deadline?.refresh()}, request, items)

  const end = async () => {
    await worker.terminate()
    await ended
  }
  return {run, stream, isAlive: () => isAlive, end}
}

const describeDeath = ({died, cause}: ThreadDeath, {memoryMb, seconds}: Limits): Error => {
  if (died === 'time')
    return new Refusal('FILE_TOO_SLOW', `The file took longer than ${seconds} s to read. Split it, or remove slow cleaning steps`)
  if (died === 'memory')
    return new Refusal(
      'UNREADABLE',
      `Reading the file needs more than the limit of ${memoryMb} MB of memory. Split it, or remove cleaning steps`,
    )
  return new Error('A parser thread ended', {cause})
}
