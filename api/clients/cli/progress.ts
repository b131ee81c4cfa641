import type {Output} from './output.ts'
import {clean, count, describeOutcome, duration, size} from './phrases.ts'
import {widthOf} from './table.ts'

/** The contents of a progress line. `share` from 0 to 1 draws a bar. As many `parts` as fit are shown, in order. */
export type Progress = {label?: string; share: number | null; parts: string[]}

const widestBar = 24
const leastBar = 8

/** Formats a progress line. It is one column shorter than the terminal, so that it never wraps. */
export const progressLine = ({label = '', share, parts}: Progress, width: number): string => {
  const room = width - 1
  const percent = share === null ? '' : `${String(Math.floor(share * 100)).padStart(3)}%`
  let line = percent
  for (const part of parts)
    if (widthOf(`${line}  ${part}`.trim()) <= room - (share === null ? 0 : leastBar + 3)) line = `${line}  ${part}`.trim()
  const left = room - widthOf(line) - 3
  const bar =
    share === null || left < leastBar ? '' : barOf(share, Math.min(widestBar, left - (label ? Math.min(widthOf(label), 20) + 1 : 0)))
  const head = label && widthOf(label) + widthOf(bar) + widthOf(line) + 2 <= room ? `${label} ` : ''
  return `${head}${bar && `${bar} `}${line}`.slice(0, room)
}

const barOf = (share: number, width: number) => {
  if (width < leastBar) return ''
  const done = Math.round(Math.min(1, Math.max(0, share)) * (width - 2))
  return `[${'#'.repeat(done)}${'-'.repeat(width - 2 - done)}]`
}

const drawEveryMs = 100
const sayEveryMs = 5_000

/** Shows progress, except with --json. In a terminal it redraws one line; elsewhere it prints a line every five seconds. */
export const openProgress = ({isLive, json, err, width}: Output) => {
  let said = isLive ? 0 : Date.now()
  let drawn = false
  const clear = () => {
    if (drawn) err.write('\r\x1b[K')
    drawn = false
  }
  return {
    show(progress: Progress, now = Date.now()) {
      if (json || now - said < (isLive ? drawEveryMs : sayEveryMs)) return
      if (isLive) err.write(`\r\x1b[K${progressLine(progress, width())}`)
      else err.write(`${plainLine(progress)}\n`)
      drawn = isLive
      said = now
    },
    clear,
  }
}

const plainLine = ({label, share, parts}: Progress) =>
  [label, share === null ? null : `${Math.floor(share * 100)}%`, ...parts].filter(part => part).join('  ')

type RunProgress = {done: number; total: number | null; rowsPerSecond: number | null; etaSeconds: number | null} | null
export type Counts = Record<string, Record<string, number>>

/** Sums rows by outcome over all modules, without zeros. */
export const sumCounts = (counts: Counts): Record<string, number> => {
  const sums: Record<string, number> = {}
  for (const of of Object.values(counts))
    for (const [outcome, rows] of Object.entries(of)) if (rows > 0) sums[outcome] = (sums[outcome] ?? 0) + rows
  return sums
}

export const runProgress = (progress: RunProgress, counts: Counts): Progress => {
  const outcomes = Object.entries(sumCounts(counts)).map(([outcome, rows]) => describeOutcome(outcome, rows))
  if (!progress) return {share: null, parts: ['waiting for a worker']}
  const {done, total, rowsPerSecond, etaSeconds} = progress
  const rows = total === null ? `${count(done)} rows` : `${count(done)}/${count(total)} rows`
  const rate = rowsPerSecond === null ? [] : [`${count(rowsPerSecond)}/s`]
  const eta = etaSeconds === null ? [] : [`eta ${duration(etaSeconds)}`]
  return {share: total ? done / total : null, parts: [rows, ...rate, ...eta, ...outcomes]}
}

export const uploadProgress = ({
  name,
  sent,
  bytes,
  since,
}: {
  name: string
  sent: number
  bytes: number
  since: {at: number; sent: number}
}) => {
  const seconds = (Date.now() - since.at) / 1000
  const rate = seconds > 0.5 ? (sent - since.sent) / seconds : null
  const eta = rate ? [`${size(rate)}/s`, `eta ${duration((bytes - sent) / rate)}`] : []
  return {label: clean(name), share: bytes > 0 ? sent / bytes : 1, parts: [`${size(sent)}/${size(bytes)}`, ...eta]}
}
