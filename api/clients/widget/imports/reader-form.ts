import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import type {CsvReader, Reader, Source, WorkbookReader} from './import.ts'
import {nameOfDelimiter, sheetsOf} from './reading.ts'

type Props = {importId: string; source: Source; onRead: () => Promise<void>}

export const ReaderForm = ({importId, source, onRead}: Props) => {
  const [reader, setReader] = useState<Reader>(source.reader)
  const change = (changes: Partial<CsvReader> & Partial<WorkbookReader>) => setReader({...reader, ...changes} as Reader)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {reader: changesOf(source.reader, reader)})
    await onRead()
    say(t.updated(source.label))
  })
  const isChanged = JSON.stringify(reader) !== JSON.stringify(source.reader)
  return html`
    <form
      onSubmit=${(event: Event) => {
        event.preventDefault()
        save.run()
      }}
    >
      ${
        reader.format === 'csv'
          ? html`<${CsvFields} reader=${reader} change=${change} />`
          : html`<${WorkbookFields} reader=${reader} change=${change} sheets=${sheetsOf(source.sniffed)} />`
      }
      <${Problem} error=${save.error} title=${t.couldNotChangeTheOptions} />
      <${Button} type="submit" isBusy=${save.isBusy} disabled=${!isChanged}>${t.apply}<//>
    </form>
  `
}

/** Returns only the changed options, because the server treats an encoding in the request as the person's choice. */
const changesOf = (before: Reader, after: Reader): Partial<Reader> =>
  Object.fromEntries(Object.entries(after).filter(([key, value]) => value !== before[key as keyof Reader]))

type Change<R> = (changes: Partial<R>) => void
const encodings = [
  'utf-8',
  'windows-1252',
  'iso-8859-15',
  'utf-16le',
  'utf-16be',
  'utf-32le',
  'utf-32be',
  'windows-1250',
  'windows-1251',
  'macintosh',
  'shift_jis',
  'gb18030',
  'big5',
  'euc-kr',
]
const delimiters = [',', ';', '\t', '|']
const withOwn = (known: string[], own: string | undefined, label: (value: string) => string) => [
  ...(own === undefined ? [{value: '', label: t.detect}] : []),
  ...(own === undefined || known.includes(own) ? known : [own, ...known]).map(value => ({value, label: label(value)})),
]

/** The reader options of a text file. An option that is not set is detected, or has its default. */
export const CsvFields = ({reader, change}: {reader: Partial<CsvReader>; change: Change<CsvReader>}) => html`
  <div class="columns">
    <${Select} label=${t.encoding} value=${reader.encoding ?? ''} options=${withOwn(encodings, reader.encoding, value => value)} onChange=${(encoding: string) => change({encoding})} />
    <${Select} label=${t.delimiter} value=${reader.delimiter ?? ''} options=${withOwn(delimiters, reader.delimiter, nameOfDelimiter)} onChange=${(delimiter: string) => change({delimiter})} />
    <${Select}
      label=${t.quoteCharacter}
      value=${(reader.quote === undefined ? '"' : reader.quote) ?? ''}
      options=${[{value: '"', label: t.doubleQuote}, {value: "'", label: t.singleQuote}, {value: '', label: t.noneWord}]}
      onChange=${(quote: string) => change({quote: quote || null})}
    />
    <${TextField} label=${t.linesToSkipAboveTheHeader} type="number" min="0" max="1000" value=${String(reader.skipRows ?? 0)} onInput=${(text: string) => change({skipRows: Math.max(0, Math.min(1000, Math.trunc(Number(text)) || 0))})} />
    <${TextField} label=${t.commentLinesStartWith} maxlength="8" placeholder=${t.none} value=${reader.comment ?? ''} onInput=${(comment: string) => change({comment: comment || null})} />
    <${Select}
      label=${t.rowsWithTooFewCells}
      value=${reader.shortRows ?? 'refuse'}
      options=${[{value: 'refuse', label: t.rejectThem}, {value: 'fill', label: t.fillThemWithEmptyCells}]}
      onChange=${(shortRows: string) => change({shortRows: shortRows as CsvReader['shortRows']})}
    />
  </div>
  <${Check} label=${t.firstRowIsTheHeader} checked=${reader.headerRow ?? true} onChange=${(headerRow: boolean) => change({headerRow})} />
  <${Check} label=${t.rejectMisplacedQuotes} hint=${t.otherwiseTheyAreReadAsCharacters} checked=${reader.strictQuotes ?? false} onChange=${(strictQuotes: boolean) => change({strictQuotes})} />
`

type WorkbookProps = {reader: Partial<WorkbookReader>; change: Change<WorkbookReader>; sheets: {name: string; state: string}[]}

/** The reader options of a workbook. An option that is not set is detected, or has its default. */
export const WorkbookFields = ({reader, change, sheets}: WorkbookProps) => html`
  <div class="columns">
    <${Select}
      label=${t.sheet}
      value=${reader.sheet ?? ''}
      options=${[
        ...(reader.sheet === undefined
          ? [{value: '', label: t.firstSheetWithRows}]
          : sheets.length === 0
            ? [{value: reader.sheet, label: reader.sheet}]
            : []),
        ...sheets.map(({name, state}) => ({value: name, label: state === 'visible' ? name : `${name} (${t.hiddenSheet})`})),
      ]}
      onChange=${(sheet: string) => change({sheet})}
    />
    <${TextField} label=${t.range} hint=${t.forExampleB3F200OrBF} value=${reader.range ?? ''} onInput=${(range: string) => change({range: range.trim() || null})} />
  </div>
  <${Check} label=${t.firstRowIsTheHeader} checked=${reader.headerRow ?? true} onChange=${(headerRow: boolean) => change({headerRow})} />
`
