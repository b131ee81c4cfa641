import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {client, inOrg, may} from '../state/session.ts'
import {t} from '../text/reading.ts'
import {Button} from '../ui/button.ts'
import {Confirm} from '../ui/dialog.ts'
import {bytes} from '../ui/format.ts'
import {say} from '../ui/notice.ts'
import {Pill} from '../ui/pill.ts'
import {EncodingQuestion} from './encoding-question.ts'
import {HeaderProposal} from './header-proposal.ts'
import type {Imported, Source} from './import.ts'
import {QuoteProblem} from './quote-problem.ts'
import {ReaderForm} from './reader-form.ts'
import {sayReader, sayReasons} from './reading.ts'
import {RowsPreview} from './rows-preview.ts'

type Props = {found: Imported; source: Source; again: () => Promise<void>}

export const SourceCard = ({found, source, again}: Props) => {
  const [isRemoving, setRemoving] = useState(false)
  return html`
    <section class="sheet source" aria-label=${source.label}>
      <div class="row">
        <h2 class="grow">${source.label}</h2>
        ${may('operator') && html`<${Button} onClick=${() => setRemoving(true)} label=${t.removeFile(source.label)}>${t.remove}<//>`}
      </div>
      <p>${t.rowCount(source.rows)}, ${t.columnCount(source.columns.length)}, ${bytes(source.bytes)}. <span class="quiet">${sayReader(source.reader)}.</span></p>
      ${source.ragged.count > 0 && html`<p><${Pill} tone="bad">${t.unevenRowCount(source.ragged.count)}<//> <span class="quiet">${t.withMoreOrFewerCellsThanThe(source.ragged.firstRow)}</span></p>`}
      <${EncodingQuestion} importId=${found.id} source=${source} again=${again} />
      <${HeaderProposal} importId=${found.id} source=${source} again=${again} />
      <${QuoteProblem} importId=${found.id} source=${source} again=${again} />
      ${source.problems.filter(({kind}) => kind === 'sheet').map(({message}) => html`<p class="wrong">${t.youCanAddTheOtherSheetsAbove(message)}</p>`)}
      <${RowsPreview} importId=${found.id} source=${source} again=${may('operator') && found.state !== 'running' ? again : null} />
      <details>
        <summary>${t.fileOptions}</summary>
        <div class="opened">
          <ul>${sayReasons(source.sniffed).map(reason => html`<li>${reason}</li>`)}</ul>
          ${may('operator') && html`<${ReaderForm} key=${JSON.stringify(source.reader)} importId=${found.id} source=${source} onRead=${again} />`}
        </div>
      </details>
      ${isRemoving && html`<${RemoveSource} found=${found} source=${source} again=${again} onClose=${() => setRemoving(false)} />`}
    </section>
  `
}

const RemoveSource = ({found, source, again, onClose}: Props & {onClose: () => void}) => {
  const remove = async () => {
    await client.delete(inOrg(`/imports/${found.id}/sources/${source.id}`))
    await again()
    say(t.removed(source.label))
  }
  const used = found.flows.some(({sourceId}) => sourceId === source.id)
  return html`
    <${Confirm} title=${t.removeQuestion(source.label)} action=${t.remove} isDangerous=${true} work=${remove} onClose=${onClose}>
      <p>${used ? t.itsMappingsStayChooseAnotherFile : t.itHasNoMappingsYet} ${t.resultsOfEarlierRunsStay}</p>
    <//>
  `
}
