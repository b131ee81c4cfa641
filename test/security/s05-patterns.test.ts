import test from 'ava'
import {readCell} from '../../shared/files/xlsx/cell.ts'
import {parseFormat} from '../../shared/files/xlsx/number-format.ts'
import {keepsDigits} from '../../shared/mapping/flows/numbers.ts'
import {isEqual} from '../../workers/engine/match/compare-values.ts'

const plainCell = (text: string) =>
  readCell(
    {column: 0, type: 'n', style: 0, text, formula: false, valued: true},
    {strings: {at: () => '', spilled: false, close: () => {}}, styles: [], epoch: 1900},
  ).text

const rich = (text: string) =>
  isEqual([{apiName: 'Note', type: 'textarea', decimalPlaces: null, picklist: []}], {Note: text}, {Note: `${text}!`})

const pairs: [what: string, read: (text: string) => unknown, hostile: (length: number) => string, harmless: (length: number) => string][] =
  [
    ['reading a format code of open brackets', parseFormat, length => '['.repeat(length), length => '#'.repeat(length)],
    ['reading a format code of days', parseFormat, length => `h${'d'.repeat(length)}`, length => '#'.repeat(length)],
    ['reading a format code of months', parseFormat, length => `h${'m'.repeat(length)}`, length => '#'.repeat(length)],
    ['reading a number of zeros', plainCell, length => `1.${'0'.repeat(length)}1e2`, length => `1.${'1'.repeat(length)}e2`],
    [
      'comparing digits that are zeros',
      text => keepsDigits(text, 2),
      length => `1${'0'.repeat(length)}1.125`,
      length => `${'1'.repeat(length)}.125`,
    ],
    ['comparing rich text with unclosed tags', rich, length => '<a'.repeat(length / 2), length => 'a'.repeat(length)],
  ]

const length = 60_000
const fastest = (run: () => unknown) =>
  Math.min(
    ...[1, 2, 3].map(() => {
      const started = performance.now()
      run()
      return performance.now() - started
    }),
  )

for (const [what, read, hostile, harmless] of pairs)
  test(`${what} takes no longer than its length`, t => {
    const [bad, good] = [hostile(length), harmless(length)]
    const ratio =
      fastest(() => read(bad)) /
      Math.max(
        0.5,
        fastest(() => read(good)),
      )
    t.true(ratio < 100, `${ratio.toFixed(0)} times as long`)
  })
