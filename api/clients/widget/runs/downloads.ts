import {useRef, useState} from 'preact/hooks'
import {ApiError, type Query} from '../../http.ts'
import {openResults} from '../../whole-results.ts'
import {html, type Markup} from '../html.ts'
import type {Imported} from '../imports/import.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {Button} from '../ui/button.ts'
import {bytes} from '../ui/format.ts'
import {CodeDetails, Notice, Problem, say} from '../ui/notice.ts'
import {nameFile} from './file-name.ts'
import type {Run} from './run.ts'
import {saveStream} from './save.ts'
import type {Source} from './use-tally.ts'

type DownloadProps = {
  found: Pick<Imported, 'id' | 'name'>
  run: Run
  kind: 'results' | 'failed' | 'plan' | 'verify'
  /** The import file whose rows to download, if the run read several files. */
  source?: Source | undefined
  children: Markup
}

/** A button that downloads a file of a run and shows the progress. During the download, a second button stops it. */
export const Download = ({found, run, kind, source, children}: DownloadProps) => {
  const name = nameFile({importName: found.name, kind, source: source?.label})
  const [got, setGot] = useState<string | null>(null)
  const stop = useRef<AbortController | null>(null)
  const doing = useDoing(async () => {
    stop.current = new AbortController()
    const {signal} = stop.current
    try {
      const size = await saveStream(
        name,
        () =>
          openFile(inOrg(kind === 'verify' ? `/imports/${found.id}/runs/${run.id}/verify.csv` : `/imports/${found.id}/${kind}.csv`), kind, {
            query: kind === 'verify' ? {} : {run: run.id, source: source?.id},
            signal,
            timeoutMs: Number.POSITIVE_INFINITY,
          }),
        (sent, total) => setGot(total === null ? bytes(sent) : t.sentOf(bytes(sent), bytes(total))),
      )
      if (size !== null) say(t.saved(name, bytes(size)))
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      setGot(null)
    }
  })
  return html`
    <span class="download">
      <${Button} isBusy=${doing.isBusy} onClick=${() => doing.run()}>${children}${got && ` · ${got}`}<//>
      ${doing.isBusy && html`<${Button} kind="quiet" onClick=${() => stop.current?.abort()}>${t.stop}<//>`}
    </span>
    ${doing.error && html`<div class="download-problem"><${DownloadProblem} error=${doing.error} again=${() => doing.run()} /></div>`}
  `
}

/** Requests a file of a run. The results are requested with a byte order mark, by which Excel detects UTF-8. */
const openFile = (path: string, kind: DownloadProps['kind'], sent: {query: Query; signal: AbortSignal; timeoutMs: number}) =>
  kind === 'results' ? openResults(client, path, {...sent, query: {...sent.query, bom: 1}}) : client.open('GET', path, sent)

const DownloadProblem = ({error, again}: {error: unknown; again: () => void}) => {
  const code = error instanceof ApiError ? error.code : null
  if (code === 'RESULTS_TOO_LARGE')
    return html`<${Notice} kind="warning" title=${t.theFileIsTooLarge}>${t.filterTheTableOfRowsInsteadOr((error as ApiError).message)}<${CodeDetails} code=${code} /><//>`
  return html`<${Problem} error=${error} again=${again} title=${code === 'RECORDS_MOVING' ? t.theRecordsOfThisRunAreBeing : undefined} />`
}
