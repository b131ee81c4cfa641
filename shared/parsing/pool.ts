import {type Config, storageOf} from '../config.ts'
import {Refusal} from '../errors.ts'
import type {FilePlace} from '../imports/stored-file.ts'
import {type ParserThread, startThread} from './parser-thread.ts'
import {openTaskQueue} from './task-queue.ts'
import {runTask, type TaskInput, type TaskName, type TaskOutput} from './tasks.ts'

export type Parsing = {
  /** Throws `BUSY` where too many tasks wait, `FILE_TOO_SLOW` past the deadline, and what the task throws. */
  run<Name extends TaskName>(org: string, name: Name, input: TaskInput<Name>): Promise<TaskOutput<Name>>
  /** Throws `BUSY` where too many tasks wait. A file whose sending began is read in any case, so this is asked before. */
  assertRoom(org: string): void
  close(): Promise<void>
}

const [mostWaiting, mostWaitingPerOrg] = [128, 32]
/** Somebody waits for the answer. */
const longestWaitMs = 60_000
/** An idle thread keeps some 40 MB; starting one takes a few tenths of a second. */
const idleMs = 300_000

/**
 * Threads that read tenants' files, so that the thread of the caller stays free. With more than one thread, one org never has them all. A thread
 * that runs out of time or memory is replaced; its task alone fails.
 */
export const openParsing = (config: Config): Parsing => {
  const {PARSER_THREADS, PARSER_MEMORY_MB, PARSER_SECONDS, FILE_LIMIT_BYTES, WORKBOOK_LIMIT_BYTES, WORKBOOK_STRINGS_BYTES} = config
  const data = {storage: storageOf(config), limits: {FILE_LIMIT_BYTES, WORKBOOK_LIMIT_BYTES, WORKBOOK_STRINGS_BYTES}}
  const limits = {memoryMb: PARSER_MEMORY_MB, seconds: PARSER_SECONDS}
  const queue = openTaskQueue({running: PARSER_THREADS, runningPerOrg: Math.max(1, PARSER_THREADS - 1)})
  const threads = openThreads(() => startThread(data, limits))
  let isClosed = false

  const assertRoom = (org: string) => {
    if (queue.count() >= mostWaiting || queue.count(org) >= mostWaitingPerOrg) throw busy()
  }
  /** Resolves when a thread is free for the task. */
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
      try {
        return (await threads.use(thread => thread.run({name, input}))) as never
      } finally {
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

/** The same in the thread of the caller: for processes that serve no requests. */
export const parseHere = (place: FilePlace): Parsing => ({
  run: (_, name, input) => runTask(name, place, input),
  assertRoom() {},
  close: async () => {},
})

const busy = () => new Refusal('BUSY', 'Too many files are being read. Ask again in a few seconds', {retryAfterMs: 5_000})

/** Starts threads on demand and ends a thread after `idleMs` without work. */
const openThreads = (start: () => ParserThread) => {
  /** The idle threads, each with the timer that ends it. */
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
  return {
    async use<T>(work: (thread: ParserThread) => Promise<T>): Promise<T> {
      const thread = take()
      try {
        return await work(thread)
      } finally {
        if (thread.isAlive()) idle.set(thread, setTimeout(drop, idleMs, thread).unref())
        else void drop(thread)
      }
    },
    close: async () => {
      await Promise.all([...all].map(drop))
    },
  }
}
