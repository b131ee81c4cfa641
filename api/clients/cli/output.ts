import {styleText} from 'node:util'
import {type Column, layPlain, layTable} from './table.ts'
import {moment} from './words.ts'

type Style = Parameters<typeof styleText>[0]
type Stream = NodeJS.WriteStream

/**
 * Where a command speaks. What was asked for goes to the standard output; notes, progress and errors go to the standard error, so that a
 * pipe holds nothing else. `json`: the first is one document, or one line per event where it is a stream; notes are left out.
 */
export type Output = ReturnType<typeof openOutput>

type Streams = {out: Stream; err: Stream; columns: number | null; isDumb?: boolean}

export const openOutput = (json: boolean, {out, err, columns, isDumb = false}: Streams) => {
  const write = (stream: Stream, text: string) => void stream.write(`${text}\n`)
  const width = () => out.columns || err.columns || columns || 80
  const style = (format: Style, text: string, stream: Stream = out) => styleText(format, text, {stream})
  const lines = (text: string | string[]) => {
    if (!json) for (const line of [text].flat()) write(out, line)
  }
  return {
    json,
    /** A person looks at it, and lines may be drawn again. */
    isLive: Boolean(err.isTTY) && !json && !isDumb,
    isTerminal: Boolean(out.isTTY),
    out,
    err,
    width,
    style,
    lines,
    /** The one answer of a command: a document for programs, lines for people. */
    answer(document: unknown, text: string | string[] | (() => string | string[])) {
      if (json) write(out, JSON.stringify(document, null, 2))
      else lines(typeof text === 'function' ? text() : text)
    },
    table(columns: readonly Column[], rows: readonly unknown[][]): string[] {
      if (!out.isTTY) return layPlain(columns, rows)
      const [heads, ...rest] = layTable(columns, rows, width())
      return heads === undefined ? [] : [style('bold', heads), ...rest]
    },
    /** A moment as people read it, and whole where programs may. */
    time: (iso: string | null | undefined) => (out.isTTY ? moment(iso) : (iso ?? '-')),
    /** One of a stream: a line of JSON, or a line for people where there is one. */
    event(document: object, text?: string) {
      if (json) write(out, JSON.stringify(document))
      else if (text !== undefined) write(out, text)
    },
    note(text: string) {
      if (!json) write(err, text)
    },
    warn(text: string) {
      if (!json) write(err, `${style('yellow', 'Warning:', err)} ${text}`)
    },
  }
}
