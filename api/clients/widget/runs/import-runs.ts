import {html} from '../html.ts'
import {ImportFrame} from '../imports/frame.ts'
import type {LoadedImport} from '../imports/known.ts'
import type {PageProps} from '../pages.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/runs.ts'
import {Shown} from '../ui/page.ts'
import {type Column, Table} from '../ui/table.ts'
import {chainsOf, type Run} from './run.ts'
import {RunName, runColumns} from './run-list.ts'

const most = 200

/** The page of the newest 200 runs of an import, grouped by retry chain. */
export const ImportRuns = ({params: {id = ''}}: PageProps) => html`
  <${ImportFrame} id=${id} step="run" title=${t.runs} lead=${t.allRunsOfThisImportNewestFirst}>
    ${(_: LoadedImport) => html`<${Chains} id=${id} />`}
  <//>
`

type Line = Run & {depth: number}

const columns = runColumns([
  {
    head: t.run,
    isName: true,
    cell: run =>
      html`<span class=${`depth-${Math.min(3, (run as Line).depth)}`}>${(run as Line).depth > 0 && html`<span aria-hidden="true">↳ </span>`}<${RunName} run=${run} /></span>`,
  },
]) as Column<Line>[]

const Chains = ({id}: {id: string}) => {
  const loaded = useLoad<Run[]>(
    async signal => (await client.get<{runs: Run[]}>(inOrg(`/imports/${id}/runs`), {limit: most}, signal)).runs,
    [id],
  )
  const empty = html`<p>${t.noRunsYet}</p><a class="button" href=${to('imports', id, 'run')}>${t.startARun}</a>`
  return html`
    <${Shown} of=${loaded}>
      ${(runs: Run[]) => html`
        <${Table} caption=${t.runsOfThisImport} columns=${columns} rows=${chainsOf(runs).flatMap(chain => chain.map((run, depth): Line => ({...run, depth})))} keyOf=${({id: one}: Line) => one} empty=${empty} />
        ${runs.length === most && html`<p class="hint">${t.theNewest(most)} <a href=${to('runs', {import: id})}>${t.showAll}</a></p>`}
      `}
    <//>
  `
}
