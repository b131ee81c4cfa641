import {type NumberFormat, parseFormat} from './number-format.ts'
import {isOds} from './ods.ts'
import {readXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

/** Maximum number of styles. Spreadsheet programs allow 65,490. */
const mostStyles = 70_000

const [general, date, time, moment, duration, percent] = ['General', 'yyyy-mm-dd', 'h:mm', 'yyyy-mm-dd h:mm', '[h]:mm:ss', '0%'].map(
  parseFormat,
) as [NumberFormat, NumberFormat, NumberFormat, NumberFormat, NumberFormat, NumberFormat]

/**
 * Built-in formats by number, including the formats of East Asian editions. Source: ECMA-376 part 1, 18.8.30. Currencies (5 to 8, 37 to 44) and
 * fractions (12, 13) are treated as General, which displays the stored number.
 */
const builtIn = (id: number): NumberFormat => {
  if (id === 9 || id === 10) return percent
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 54) || id === 57 || id === 58) return date
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id === 45 || id === 47 || id === 55 || id === 56) return time
  return id === 22 ? moment : id === 46 ? duration : general
}

/** Number formats by the style index of a cell. */
export type Styles = NumberFormat[]

export const readStyles = async (zip: Zip, path: string | null): Promise<Styles> => {
  // Cells of an OpenDocument file state their type and displayed text. Only percentages need a format.
  if (isOds(zip)) return [general, percent]
  const styles: Styles = []
  if (!path) return styles
  const codes = new Map<number, NumberFormat>()
  let inCells = false
  await readXml(path, zip.open(path), {
    open(name, {numFmtId, formatCode}) {
      if (name === 'numFmt') codes.set(Number(numFmtId), parseFormat(formatCode ?? ''))
      else if (name === 'cellXfs') inCells = true
      else if (name === 'xf' && inCells) styles.push(codes.get(Number(numFmtId)) ?? builtIn(Number(numFmtId)))
      if (styles.length > mostStyles || codes.size > mostStyles) throw corrupt(`it has more than ${mostStyles} styles`)
    },
    close(name) {
      if (name === 'cellXfs') inCells = false
    },
  })
  return styles
}
