import {useState} from 'preact/hooks'
import {ApiError} from '../../http.ts'
import {html} from '../html.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {CodeDetails, Notice, Problem} from '../ui/notice.ts'
import type {CsvReader, Reader, WorkbookReader} from './import.ts'
import {CsvFields, WorkbookFields} from './reader-form.ts'
import {sheetsIn} from './reading.ts'

/** Advice by error code: the reader options that may prevent the error. */
const advice: Record<string, string> = {
  FILE_EMPTY: t.readAnotherSheetOrAnotherRange,
  FILE_NO_ROWS: t.ifTheFirstRowIsDataClear,
  FILE_HEADER: t.setTheNumberOfLinesAboveThe,
  FILE_ENCODING: t.chooseTheEncodingInWhichTheFile,
  FILE_NUL: t.chooseTheEncodingInWhichTheFile,
  FILE_QUOTE: t.ifQuotesMeanNothingInThisFile,
  SHEET_NOT_FOUND: t.chooseAnotherSheet,
  UNREADABLE: t.chooseAnotherDelimiterOrQuote,
}
/** The codes of errors in the file itself. Sending the same file again changes nothing. */
const ofFile = new Set([
  ...Object.keys(advice),
  'FILE_FORMAT',
  'NOT_A_TABLE',
  'FILE_ENCRYPTED',
  'FILE_CORRUPT',
  'FILE_TOO_LARGE',
  'WORKBOOK_TOO_LARGE',
  'FAILED_FILE',
])

export const mayRetry = (error: unknown): boolean => !(error instanceof ApiError && ofFile.has(error.code))

type Props = {name: string; error: unknown; read: (reader: Partial<Reader>) => void}

/** Shows why the server could not read a file, and offers reader options if they may help. Options that are not set are detected. */
export const RefusedFile = ({name, error, read}: Props) => {
  const [reader, setReader] = useState<Partial<CsvReader> & Partial<WorkbookReader>>({})
  const code = error instanceof ApiError ? error.code : ''
  const sheets = sheetsIn(error)
  const isWorkbook = sheets.length > 0 || /\.(xlsx|ods)$/i.test(name)
  const hint = advice[code]
  const title = t.couldNotImport(name)
  // For an empty text file, other reader options do not help.
  if (!hint || (code === 'FILE_EMPTY' && !isWorkbook)) return html`<${Problem} error=${error} title=${title} />`
  const change = (changes: Partial<CsvReader> & Partial<WorkbookReader>) =>
    setReader({...reader, ...Object.fromEntries(Object.entries(changes).map(([key, value]) => [key, value === '' ? undefined : value]))})
  return html`
    <${Notice} kind="bad" title=${title}><p>${whatIsWrong(error as ApiError)}</p><${CodeDetails} code=${code} /><//>
    <form
      class="refused-file"
      aria-label=${t.readingOptionsOf(name)}
      onSubmit=${(event: Event) => {
        event.preventDefault()
        read(Object.fromEntries(Object.entries(reader).filter(([, value]) => value !== undefined)))
      }}
    >
      <p><strong>${hint}</strong></p>
      ${isWorkbook ? html`<${WorkbookFields} reader=${reader} change=${change} sheets=${sheets} />` : html`<${CsvFields} reader=${reader} change=${change} />`}
      <${Button} type="submit" kind="main" disabled=${Object.keys(reader).length === 0}>${t.readAgain}<//>
    </form>
  `
}

/** Returns the message without the last sentence, which names options of the API. A single sentence is kept. */
const whatIsWrong = ({message}: ApiError): string => {
  const end = message.lastIndexOf('. ')
  return end < 0 ? message : message.slice(0, end + 1)
}
