import type {Progress} from './journey.ts'
import {paint} from './terminal.ts'

const barWidth = 22
const plainEveryMs = 2_000
const count = new Intl.NumberFormat('en')

export type ProgressBar = {show(progress: Progress): void; end(): void}

/** Shows progress: on a terminal as one line that is redrawn, elsewhere as lines, at most one every two seconds. */
export const openProgress = (label: string, out: NodeJS.WriteStream = process.stdout): ProgressBar => {
  const startedAt = Date.now()
  let printed: {at: number; done: number} | null = null
  let last: Progress | null = null
  const show = (progress: Progress, isLast = false) => {
    const elapsed = (Date.now() - startedAt) / 1000
    last = progress
    if (out.isTTY) return void out.write(`\r\x1b[K${drawn(label, progress, elapsed)}${isLast ? '\n' : ''}`)
    const isDue = isLast ? printed?.done !== progress.done : !printed || Date.now() - printed.at >= plainEveryMs
    if (!isDue) return
    printed = {at: Date.now(), done: progress.done}
    out.write(`${plain(label, progress, elapsed)}\n`)
  }
  return {show: progress => show(progress), end: () => last && show(last, true)}
}

const drawn = (label: string, {done, total, rowsPerSecond, etaSeconds}: Progress, elapsed: number) => {
  const share = total ? Math.min(done / total, 1) : 0
  const filled = Math.round(share * barWidth)
  const bar = paint('green', '█'.repeat(filled)) + paint('dim', '░'.repeat(barWidth - filled))
  const rows = `${count.format(done)}/${total === null ? '?' : count.format(total)}`.padStart(11)
  const speed = `${count.format(Math.round(rowsPerSecond ?? 0))} rows/s`.padStart(14)
  const left = share < 1 && etaSeconds !== null ? `  ${clock(etaSeconds)} left` : ''
  return `  ${label.padEnd(6)} ${bar} ${rows}${paint('dim', `${speed}  ${clock(elapsed)}${left}`)}`
}

const plain = (label: string, {done, total, rowsPerSecond, etaSeconds}: Progress, elapsed: number) => {
  const left = etaSeconds === null || done === total ? '' : `, ${clock(etaSeconds)} left`
  return `  ${label}: ${done} of ${total ?? '?'} rows, ${Math.round(rowsPerSecond ?? 0)} rows/s, ${clock(elapsed)} elapsed${left}`
}

const clock = (seconds: number) => {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}
