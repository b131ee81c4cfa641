import {type Config, storageOf} from '../../config.ts'
import {Refusal} from '../../errors.ts'
import type {FileDeps} from '../stored-file.ts'
import {type ParserThread, startParserThread} from './parser-thread.ts'
import {openTaskQueue} from './task-queue.ts'
import {
  type FileChunks,
  runStream,
  runTask,
  type StreamInput,
  type StreamItems,
  type StreamName,
  type TaskInput,
  type TaskName,
  type TaskOutput,
} from './tasks.ts'

export type Parsing = {
  /**
   * Runs a task. Throws `BUSY` if too many tasks wait (not for `readNew`) or no thread becomes free in time. Throws `FILE_TOO_SLOW` past the
   * deadline, and errors of the task.
   */
  run<Name extends TaskName>(org: string, name: Name, input: TaskInput<Name>): Promise<TaskOutput<Name>>
  /** Yields the output in chunks. Throws the same errors as `run`, and rethrows errors of `items`. */
  stream<Name extends StreamName>(org: string, name: Name, input: StreamInput<Name>, items: StreamItems): FileChunks
  /** Throws `BUSY` if too many tasks wait. Call it before an upload begins, because the task `readNew` is not refused after the upload. */
  assertRoom(org: string): void
  close(): Promise<void>
}

const [mostWaiting, mostWaitingPerOrg] = [128, 32]
/** The maximum wait for a thread, because a client waits for the answer. A new file (`readNew`) may wait for PARSER_SECONDS. */
const longestWaitMs = 60_000
/** Time after which an idle thread is ended. An idle thread takes about 40 MB; starting a thread takes a few tenths of a second. */
const idleMs = 300_000

/**
 * Opens a pool of threads that parse tenants' files, so that the main thread stays responsive. If there are several threads, one org never
 * occupies all of them. A thread that exceeds its time or memory is replaced, and only its task fails.
 */
export const openParsing = (config: Config): Parsing => {
  const {PARSER_THREADS, PARSER_MEMORY_MB, PARSER_SECONDS, FILE_LIMIT_BYTES, WORKBOOK_LIMIT_BYTES, WORKBOOK_STRINGS_BYTES} = config
  const data = {storage: storageOf(config), limits: {FILE_LIMIT_BYTES, WORKBOOK_LIMIT_BYTES, WORKBOOK_STRINGS_BYTES}}
  const limits = {memoryMb: PARSER_MEMORY_MB, seconds: PARSER_SECONDS}
  const queue = openTaskQueue({running: PARSER_THREADS, runningPerOrg: Math.max(1, PARSER_THREADS - 1)})
  const threads = openThreads(() => startParserThread(data, limits))
  let isClosed = false

  const assertRoom = (org: string) => {
    if (queue.count() >= mostWaiting || queue.count(org) >= mostWaitingPerOrg) throw busy()
  }
  const waitForThread = async (org: string, waitMs: number): Promise<void> => {
    const {promise, resolve, reject} = Promise.withResolvers<void>()
    const task = {org, start: resolve}
    queue.add(task)
    queue.startNext()
    const timer = setTimeout(() => queue.remove(task) && reject(busy()), waitMs)
    await promise.finally(() => clearTimeout(timer))
  }
  return {
    async run(org, name, input) {
      if (isClosed) throw busy()
      if (name !== 'readNew') assertRoom(org)
      await waitForThread(org, name === 'readNew' ? PARSER_SECONDS * 1000 : longestWaitMs)
      const thread = threads.take()
      try {
        return (await thread.run({name, input})) as never
      } finally {
        threads.giveBack(thread)
        queue.release(org)
        queue.startNext()
      }
    },
    async *stream(org, name, input, items) {
      if (isClosed) throw busy()
      assertRoom(org)
      await waitForThread(org, longestWaitMs)
      const thread = threads.take()
      try {
        return yield* thread.stream({stream: name, input}, items)
      } finally {
        threads.giveBack(thread)
        queue.release(org)
        queue.startNext()
      }
    },
    assertRoom,
    close: async () => {
      isClosed = true
      await threads.close()
    },
  }
}

/** Runs all tasks in the calling thread, for processes that serve no requests. */
export const parseHere = (deps: FileDeps): Parsing => ({
  run: (_, name, input) => runTask(name, deps, input),
  stream: (_, name, input, items) => runStream(name, deps, input, items),
  assertRoom() {},
  close: async () => {},
})

const busy = () => new Refusal('BUSY', 'Too many files are being read at the moment. Try again in a few seconds', {retryAfterMs: 5_000})

const openThreads = (start: () => ParserThread) => {
  const idle = new Map<ParserThread, NodeJS.Timeout>()
  const all = new Set<ParserThread>()
  const drop = (thread: ParserThread) => {
    all.delete(thread)
    clearTimeout(idle.get(thread))
    idle.delete(thread)
    return thread.end()
  }
  const take = () => {
    for (const [thread, timer] of idle) {
      clearTimeout(timer)
      idle.delete(thread)
      if (thread.isAlive()) return thread
    }
    const started = start()
    all.add(started)
    return started
  }
  const giveBack = (thread: ParserThread) => {
    if (thread.isAlive()) idle.set(thread, setTimeout(drop, idleMs, thread).unref())
    else void drop(thread)
  }
  return {
    take,
    giveBack,
    close: async () => {
      await Promise.all([...all].map(drop))
    },
  }
}
