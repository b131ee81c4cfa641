import {useRef} from 'preact/hooks'
import {html} from '../html.ts'
import type {PageProps} from '../pages.ts'
import {useDoing} from '../state/load.ts'
import {place, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {count, plural} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {Tabs} from '../ui/tabs.ts'
import {CleaningEditor} from './cleaning-editor.ts'
import {ColumnTable} from './column-table.ts'
import {EncodingQuestion, isOfText} from './encoding-question.ts'
import {ImportFrame, NextStep} from './frame.ts'
import {HeaderProposal} from './header-proposal.ts'
import type {Choice, Imported, Source} from './import.ts'
import type {LoadedImport} from './known.ts'
import {Question} from './question.ts'
import {RowsPreview} from './rows-preview.ts'

/** The columns step: statistics of each column, and questions about ambiguous values. */
export const Columns = ({params: {id}}: PageProps) => html`
  <${ImportFrame} id=${id} step="columns" lead="Review the columns of each file, and choose how to read ambiguous values.">
    ${(loadedImport: LoadedImport) => html`<${ColumnsOf} found=${loadedImport.import} again=${loadedImport.again} />`}
  <//>
`

type Props = {found: Imported; again: () => Promise<void>}

const ColumnsOf = ({found, again}: Props) => {
  const wanted = place.value.query.get('source')
  const source = found.sources.find(({id}) => id === wanted) ?? found.sources[0]
  if (!source) return html`<p class="empty">No files yet. <a href=${to('imports', found.id, 'files')}>Upload a file first</a>.</p>`
  const tabs = found.sources.map(({id, label}) => ({
    href: to('imports', found.id, 'columns', {source: id}),
    label,
    isHere: id === source.id,
  }))
  return html`
    ${tabs.length > 1 && html`<${Tabs} label="Files" tabs=${tabs} />`}
    <${OneFile} key=${source.id} importId=${found.id} source=${source} again=${again} />
    <${NextStep} id=${found.id} step="mapping" />
  `
}

type OneProps = {importId: string; source: Source; again: () => Promise<void>}

const OneFile = ({importId, source, again}: OneProps) => {
  const heading = useRef<HTMLHeadingElement>(null)
  const decide = useDoing(async (column: string, choice: Choice | null) => {
    const loadedImport = choice && {...source.choices[column], ...choice}
    await client.patch(inOrg(`/imports/${importId}/sources/${source.id}`), {choices: {[column]: loadedImport}})
    await again()
    heading.current?.focus()
    say(choice ? `Saved the choice for ${column}` : `Removed the choice for ${column}`)
  })
  const wide = source.problems.filter(problem => problem.column === null && !isOfText(problem))
  return html`
    <${EncodingQuestion} importId=${importId} source=${source} again=${again} />
    ${may('operator') && html`<${Questions} source=${source} isBusy=${decide.isBusy} decide=${decide.run} />`}
    <${Problem} error=${decide.error} />
    <h2 ref=${heading} tabindex="-1">${plural(source.columns.length, 'column')} <span class="quiet">of ${source.label}, ${plural(source.rows, 'row')}</span></h2>
    ${wide.filter(({kind}) => kind !== 'header').map(({message, fix}) => html`<p class="wrong">${message}. ${fix}.</p>`)}
    <${HeaderProposal} importId=${importId} source=${source} again=${again} />
    <${ColumnTable} source=${source} decide=${decide.run} />
    ${may('operator') && html`<div class="gap-above"><${CleaningEditor} importId=${importId} source=${source} again=${again} /></div>`}
    <h2>Rows</h2>
    <${RowsPreview} importId=${importId} source=${source} />
  `
}

type AskProps = {source: Source; isBusy: boolean; decide: (column: string, choice: Choice) => void}

const mostAsked = 20

const Questions = ({source, isBusy, decide}: AskProps) => {
  const open = source.problems.filter(({kind, column}) => kind === 'ambiguous' && column !== null)
  if (open.length === 0) return null
  return html`
    <section class="sheet questions" aria-label="Questions">
      <h2>${open.length === 1 ? '1 question' : `${count(open.length)} questions`}</h2>
      <ul class="plain">
        ${open.slice(0, mostAsked).map(problem => {
          const column = source.columns.find(({name}) => name === problem.column)
          return (
            column &&
            html`<${Question} key=${`${problem.column} ${problem.fix}`} problem=${problem} column=${column} isBusy=${isBusy} decide=${(choice: Choice) => decide(column.name, choice)} />`
          )
        })}
      </ul>
      ${open.length > mostAsked && html`<p class="quiet">${count(open.length - mostAsked)} more after these.</p>`}
    </section>
  `
}
