import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Check, Select, TextField} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import type {CsvReader, Reader, Source, WorkbookReader} from './import.ts'
import {nameOfDelimiter, sheetsOf} from './reading.ts'

type Props = {importId: string; source: Source; onRead: () => Promise<void>}

/** A form for the reader options. */
export const ReaderForm = ({importId, source, onRead}: Props) => {
  const [reader, setReader] = useState<Reader>(source.reader)
  const change = (changes: Partial<CsvReader> & Partial<WorkbookReader>) => setReader({...reader, ...changes} as Reader)
  const save = useDoing(async () => {
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {reader: changesOf(source.reader, reader)})
    await onRead()
    say(`Updated ${source.label}`)
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
      <${Problem} error=${save.error} title="Could not change the options" />
      <${Button} type="submit" isBusy=${save.isBusy} disabled=${!isChanged}>Apply<//>
    </form>
  `
}

/** Returns the changed options only, because the server takes a sent encoding as a person's choice. */
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
  ...(own === undefined ? [{value: '', label: 'Detect'}] : []),
  ...(own === undefined || known.includes(own) ? known : [own, ...known]).map(value => ({value, label: label(value)})),
]

/** The options of a text file. An option that is not set is detected, or has its usual value. */
export const CsvFields = ({reader, change}: {reader: Partial<CsvReader>; change: Change<CsvReader>}) => html`
  <div class="columns">
    <${Select} label="Encoding" value=${reader.encoding ?? ''} options=${withOwn(encodings, reader.encoding, value => value)} onChange=${(encoding: string) => change({encoding})} />
    <${Select} label="Delimiter" value=${reader.delimiter ?? ''} options=${withOwn(delimiters, reader.delimiter, nameOfDelimiter)} onChange=${(delimiter: string) => change({delimiter})} />
    <${Select}
      label="Quote character"
      value=${(reader.quote === undefined ? '"' : reader.quote) ?? ''}
      options=${[{value: '"', label: 'double quote'}, {value: "'", label: 'single quote'}, {value: '', label: 'none'}]}
      onChange=${(quote: string) => change({quote: quote || null})}
    />
    <${TextField} label="Lines to skip above the header" type="number" min="0" max="1000" value=${String(reader.skipRows ?? 0)} onInput=${(text: string) => change({skipRows: Math.max(0, Math.min(1000, Math.trunc(Number(text)) || 0))})} />
    <${TextField} label="Comment lines start with" maxlength="8" placeholder="None" value=${reader.comment ?? ''} onInput=${(comment: string) => change({comment: comment || null})} />
    <${Select}
      label="Rows with too few cells"
      value=${reader.shortRows ?? 'refuse'}
      options=${[{value: 'refuse', label: 'reject them'}, {value: 'fill', label: 'fill them with empty cells'}]}
      onChange=${(shortRows: string) => change({shortRows: shortRows as CsvReader['shortRows']})}
    />
  </div>
  <${Check} label="First row is the header" checked=${reader.headerRow ?? true} onChange=${(headerRow: boolean) => change({headerRow})} />
  <${Check} label="Reject misplaced quotes" hint="Otherwise they are read as characters" checked=${reader.strictQuotes ?? false} onChange=${(strictQuotes: boolean) => change({strictQuotes})} />
`

type WorkbookProps = {reader: Partial<WorkbookReader>; change: Change<WorkbookReader>; sheets: {name: string; state: string}[]}

/** The options of a workbook. An option that is not set is detected, or has its usual value. */
export const WorkbookFields = ({reader, change, sheets}: WorkbookProps) => html`
  <div class="columns">
    <${Select}
      label="Sheet"
      value=${reader.sheet ?? ''}
      options=${[
        ...(reader.sheet === undefined
          ? [{value: '', label: 'First sheet with rows'}]
          : sheets.length === 0
            ? [{value: reader.sheet, label: reader.sheet}]
            : []),
        ...sheets.map(({name, state}) => ({value: name, label: state === 'visible' ? name : `${name} (${state})`})),
      ]}
      onChange=${(sheet: string) => change({sheet})}
    />
    <${TextField} label="Range" hint="For example B3:F200 or B:F. Leave empty for the whole sheet" value=${reader.range ?? ''} onInput=${(range: string) => change({range: range.trim() || null})} />
  </div>
  <${Check} label="First row is the header" checked=${reader.headerRow ?? true} onChange=${(headerRow: boolean) => change({headerRow})} />
`
