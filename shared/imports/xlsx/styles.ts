import {readXml} from './xml.ts'
import {corrupt, type Zip} from './zip.ts'

/** A spreadsheet program allows 65,490 of them. */
const mostStyles = 70_000

/** How a number is shown, as far as it changes what it says. `padded`: with leading zeros that the file does not hold. */
export type Shown = 'number' | 'date' | 'time' | 'moment' | 'duration' | 'padded'

/** Formats that need no definition, by their number: ECMA-376 part 1, 18.8.30, and those of East Asian editions. */
const builtIn = (id: number): Shown => {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || id === 36 || (id >= 50 && id <= 54) || id === 57 || id === 58) return 'date'
  if ((id >= 18 && id <= 21) || (id >= 32 && id <= 35) || id === 45 || id === 47 || id === 55 || id === 56) return 'time'
  return id === 22 ? 'moment' : id === 46 ? 'duration' : 'number'
}

/** What a format code shows: its first section, without what is literal, coloured, conditional or a locale. */
export const shownBy = (code: string): Shown => {
  const bare = code
    .replace(/"[^"]*"?|\\.|[_*]./g, '')
    .split(';')[0]!
    .toLowerCase()
  if (/\[(h+|m+|s+)\]/.test(bare)) return 'duration'
  const tokens = bare.replace(/\[[^[\]]*\]/g, '').replace(/general/g, '')
  const noon = /am\/pm|a\/p/.test(tokens)
  const letters = tokens.replace(/am\/pm|a\/p/g, '').replace(/0(\.0*)?e[+-]/g, '')
  const time = noon || /[hs]/.test(letters)
  const date = /[ydg]/.test(letters) || (!time && /m/.test(letters)) || /m[^hsmyd]*[yd]|[yd][^hsmyd]*m/.test(letters)
  if (date || time) return date && time ? 'moment' : date ? 'date' : 'time'
  return /^0{2,}$/.test(tokens) ? 'padded' : 'number'
}

/** By the number a cell gives as its style. */
export type Styles = Shown[]

export const readStyles = async (zip: Zip, path: string | null): Promise<Styles> => {
  const styles: Styles = []
  if (!path) return styles
  const codes = new Map<number, Shown>()
  let inCells = false
  await readXml(path, zip.open(path), {
    open(name, {numFmtId, formatCode}) {
      if (name === 'numFmt') codes.set(Number(numFmtId), shownBy(formatCode ?? ''))
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
