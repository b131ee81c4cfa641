import type {Progress} from './journey.ts'
import {paint} from './terminal.ts'

const barWidth = 24
const plainEveryMs = 2_000
const count = new Intl.NumberFormat('en')

export type ProgressBar = {show(progress: Progress): void; end(): void}

/** One line that is drawn again and again on a terminal; a plain line now and then where nothing can be drawn again. */
export const openProgress = (label: string, out: NodeJS.WriteStream = process.stdout): ProgressBar => {
  const startedAt = Date.now()
  let lastPlainAt = 0
  let last: Progress | null = null
  const draw = (progress: Progress) => {
    last = progress
    const elapsed = (Date.now() - startedAt) / 1000
    if (out.isTTY) out.write(`\r\x1b[K${drawn(label, progress, elapsed)}`)
    else if (Date.now() - lastPlainAt >= plainEveryMs) {
      lastPlainAt = Date.now()
      out.write(`${plain(label, progress, elapsed)}\n`)
    }
  }
  return {
    show: draw,
    end: () => {
      lastPlainAt = 0
      if (last) draw(last)
      if (out.isTTY) out.write('\n')
    },
  }
}

const drawn = (label: string, {done, total, rowsPerSecond, etaSeconds}: Progress, elapsed: number) => {
  const share = total ? Math.min(done / total, 1) : 0
  const filled = Math.round(share * barWidth)
  const bar = paint('green', '█'.repeat(filled)) + paint('dim', '░'.repeat(barWidth - filled))
  const rows = `${count.format(done)}/${total === null ? '?' : count.format(total)}`.padStart(11)
  const speed = `${count.format(Math.round(rowsPerSecond ?? 0))} rows/s`.padStart(12)
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
