import {existsSync, readFileSync, renameSync, writeFileSync} from 'node:fs'
import type {Simulator} from './simulator.ts'
import type {Thing} from './store.ts'

const version = 1
const everyMs = 2000

type KeptContent = {version: number; now: number; things: Thing[]; keys: any[]}

/** Keeps the state in a file: read at the start, written every two seconds and at the end. An unreadable file is renamed, not deleted. */
export const openSnapshot = (standIn: Simulator, file: string): {close: () => void} => {
  if (existsSync(file)) load(standIn, file)
  let last = ''
  const save = () => {
    const text = JSON.stringify(contentOf(standIn))
    if (text === last) return
    writeFileSync(`${file}.new`, text)
    renameSync(`${file}.new`, file)
    last = text
  }
  const timer = setInterval(save, everyMs).unref()
  return {
    close: () => {
      clearInterval(timer)
      save()
    },
  }
}

/** Deliveries in flight are sent again, because their outcome is unknown. */
const contentOf = ({world}: Simulator): KeptContent => ({
  version,
  now: world.clock.now(),
  things: world.store.list().map(thing => (thing.object === '~delivery' ? {...thing, isOut: false} : thing)),
  keys: world.keys.list(),
})

const load = (standIn: Simulator, file: string) => {
  const {world} = standIn
  try {
    const kept: KeptContent = JSON.parse(readFileSync(file, 'utf8'))
    if (kept.version !== version) throw new Error(`version ${kept.version} is not ${version}`)
    for (const thing of kept.things) world.store.put(thing)
    world.store.commit()
    world.keys.restore(kept.keys)
    world.clock.set(Math.max(kept.now, world.clock.now()))
  } catch (error) {
    renameSync(file, `${file}.unreadable`)
    standIn.reset()
    console.error(`The snapshot ${file} could not be read and was put aside: ${error instanceof Error ? error.message : error}`)
  }
}
