import {closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync} from 'node:fs'
import type {Simulator} from './simulator.ts'
import {restoreSimulatorState} from './snapshot-reader.ts'
import {snapshotLines} from './snapshot-writer.ts'

export type Snapshot = {changed: () => void; close: () => void}

const saveEveryMs = 3000
/** The largest share of time to spend on saving. A large state is therefore saved less often. */
const timeShare = 0.05

/** Keeps the state in a file of JSON lines: reads it at the start, and writes it at most every three seconds after a change. */
export const openSnapshot = (standIn: Simulator, file: string): Snapshot => {
  if (existsSync(file)) load(standIn, file)
  let isChanged = false
  let timer: NodeJS.Timeout | null = null
  let lastMs = 0
  const save = () => {
    timer = null
    if (!isChanged) return
    const started = performance.now()
    isChanged = false
    writeWhole(file, snapshotLines(standIn.world))
    lastMs = performance.now() - started
  }
  return {
    changed: () => {
      isChanged = true
      timer ??= setTimeout(save, Math.max(saveEveryMs, lastMs / timeShare)).unref()
    },
    close: () => {
      if (timer) clearTimeout(timer)
      save()
    },
  }
}

/** Loads the file. An unreadable file is renamed, not deleted, and the state starts anew. */
const load = (standIn: Simulator, file: string) => {
  try {
    restoreSimulatorState(standIn.world, linesOf(readFileSync(file)))
  } catch (error) {
    renameSync(file, `${file}.unreadable`)
    standIn.reset()
    console.error(`The snapshot ${file} could not be read and was put aside: ${error instanceof Error ? error.message : error}`)
  }
}

/** Reads line by line, because the file may exceed the maximum length of a string. */
function* linesOf(bytes: Buffer): Generator<any> {
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf(10, at)
    if (end === -1) throw new Error('the last line is not whole')
    yield JSON.parse(bytes.toString('utf8', at, end))
    at = end + 1
  }
}

/** Replaces the file at once: writes a temporary file and renames it. */
const writeWhole = (file: string, lines: Iterable<unknown>) => {
  const beside = `${file}.${process.pid}.new`
  const handle = openSync(beside, 'w')
  try {
    for (const line of lines) writeSync(handle, `${JSON.stringify(line)}\n`)
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
  renameSync(beside, file)
}
