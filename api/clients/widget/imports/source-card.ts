import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useDoing} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg, may} from '../state/session.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {bytes, plural} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {EncodingQuestion} from './encoding-question.ts'
import {HeaderProposal} from './header-proposal.ts'
import type {Imported, Source} from './import.ts'
import {ReaderForm} from './reader-form.ts'
import {sayReader, sayReasons, sheetsOf} from './reading.ts'
import {RowsPreview} from './rows-preview.ts'

type Props = {found: Imported; source: Source; again: () => Promise<void>}

/** One file of an import: its size, reader options, rows and actions. */
export const SourceCard = ({found, source, again}: Props) => {
  const [isRemoving, setRemoving] = useState(false)
  return html`
    <section class="sheet source" aria-label=${source.label}>
      <div class="row">
        <h2 class="grow">${source.label}</h2>
        ${may('operator') && html`<${Button} onClick=${() => setRemoving(true)} label=${`Remove ${source.label}`}>Remove<//>`}
      </div>
      <p>${plural(source.rows, 'row')}, ${plural(source.columns.length, 'column')}, ${bytes(source.bytes)}. <span class="quiet">${sayReader(source.reader)}.</span></p>
      ${may('operator') && html`<${OtherSheets} found=${found} source=${source} again=${again} />`}
      ${source.ragged.count > 0 && html`<p><${Pill} tone="bad">${plural(source.ragged.count, 'uneven row')}<//> <span class="quiet">with more or fewer cells than the header, first in row ${source.ragged.firstRow}. Another delimiter may fix this.</span></p>`}
      <${EncodingQuestion} importId=${found.id} source=${source} again=${again} />
      <${HeaderProposal} importId=${found.id} source=${source} again=${again} />
      ${source.problems.filter(({kind}) => kind === 'sheet').map(({message}) => html`<p class="wrong">${message}. You can add the other sheets above.</p>`)}
      <${RowsPreview} importId=${found.id} source=${source} again=${may('operator') && found.state !== 'running' ? again : null} />
      <details>
        <summary>File options</summary>
        <div class="opened">
          <ul>${sayReasons(source.sniffed).map(reason => html`<li>${reason}</li>`)}</ul>
          ${may('operator') && html`<${ReaderForm} key=${JSON.stringify(source.reader)} importId=${found.id} source=${source} onRead=${again} />`}
        </div>
      </details>
      ${isRemoving && html`<${RemoveSource} found=${found} source=${source} again=${again} onClose=${() => setRemoving(false)} />`}
    </section>
  `
}

const OtherSheets = ({found, source, again}: Props) => {
  const add = useDoing(async (sheet: string) => {
    const goOn = goIfHere()
    const {source: added} = await client.post(inOrg(`/imports/${found.id}/sources`), {
      fromSource: source.id,
      sheet,
      label: `${source.name}: ${sheet}`.slice(0, 255),
    })
    await again()
    say(`Added sheet ${sheet}`)
    goOn(to('imports', found.id, 'match', {source: added.id}))
  })
  const here = found.sources.flatMap(({sha256, reader}) => (sha256 === source.sha256 && reader.format === 'xlsx' ? [reader.sheet] : []))
  const others = sheetsOf(source.sniffed).filter(({name}) => !here.includes(name))
  const isFirst = found.sources.find(({sha256}) => sha256 === source.sha256)?.id === source.id
  if (others.length === 0 || !isFirst) return null
  return html`
    <div class="row other-sheets">
      <span class="quiet">Other sheets of the workbook:</span>
      ${others.map(({name, state, rows}) => html`<${Button} isBusy=${add.isBusy} onClick=${() => add.run(name)}>Add ${name}${state === 'visible' ? '' : ` (${state})`}${rows !== undefined && html` <span class="quiet">${plural(rows, 'row')}</span>`}<//>`)}
    </div>
    <${Problem} error=${add.error} />
  `
}

const RemoveSource = ({found, source, again, onClose}: Props & {onClose: () => void}) => {
  const remove = async () => {
    await client.delete(inOrg(`/imports/${found.id}/sources/${source.id}`))
    await again()
    say(`Removed ${source.label}`)
  }
  const used = found.flows.some(({sourceId}) => sourceId === source.id)
  return html`
    <${Confirm} title=${`Remove ${source.label}?`} action="Remove" isDangerous=${true} work=${remove} onClose=${onClose}>
      <p>${used ? 'Its mappings stay. Choose another file for them before you run the import.' : 'It has no mappings yet.'} Results of earlier runs stay.</p>
    <//>
  `
}
