import type {WatchedApi} from './watched-api.ts'

/** The longest permitted block of the event loop in ms, on the reference machine. A slower machine has a proportionally higher limit. */
export const mostMs = 50
const tries = 5

/** Returns by which factor this machine parses JSON slower than the reference machine; at least 1. */
const slowness = () => {
  const text = JSON.stringify(Array.from({length: 20_000}, (_, at) => ({at, name: `column ${at}`})))
  const times = Array.from({length: 5}, () => {
    const before = process.threadCpuUsage()
    for (let read = 0; read < 5; read++) JSON.parse(text)
    const {user, system} = process.threadCpuUsage(before)
    return (user + system) / 1000
  })
  return Math.max(1, Math.min(...times) / 30)
}

export const turnLimitMs = () => mostMs * slowness()

/**
 * Returns the longest block of the event loop during `act`, in ms, for up to five tries. The first try within `mostMs` is the last one. Tries
 * are repeated because a garbage collection may lengthen one.
 */
export const measureTurns = async (api: WatchedApi, act: () => Promise<unknown>) => {
  const turns: number[] = []
  for (let attempt = 0; attempt < tries && !turns.some(turn => turn <= mostMs); attempt++) {
    await api.longestTurn()
    await act()
    turns.push(await api.longestTurn())
  }
  return turns
}

const columns = Array.from({length: 16_384}, (_, at) => at)
const wideRow = (row: number) => columns.map(at => `0${at}/${row}/26 ${'text '.repeat(8)}`).join()

/** A file of 16,384 columns and 12 rows, close to the longest rows that are accepted. */
export const wide = [columns.map(at => `c${at}`).join(), ...Array.from({length: 12}, (_, row) => wideRow(row))].join('\n')

/** A file with cells that cost a pattern a few tenths of a second each: every search from a `b` reads the rest of the cell. */
export const costly = `name\n${`${'ab'.repeat(1_200)}\n`.repeat(4)}`
export const costlyCleaning = [{step: 'replace', find: 'a|b(a|b|ab)*c', with: '', regex: true}]
