import {html} from '../html.ts'
import type {Imported} from '../imports/import.ts'
import {useFields} from '../imports/module-data.ts'
import {stepLabels} from '../imports/steps.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/decide.ts'
import {sayName} from '../ui/labels.ts'
import {findRepeatingFlows, sayModules} from './new-run.ts'

/** Advice after a retry was refused because the file changed. It offers a new run only if a new run creates no record twice. */
export const ChangedFile = ({importId}: {importId: string}) => {
  const {data: found} = useLoad<Imported>(
    async signal => (await client.get<{import: Imported}>(inOrg(`/imports/${importId}`), {}, signal)).import,
    [importId],
  )
  const match = html`<a href=${to('imports', importId, 'match')}>${stepLabels.match}</a>`
  return html`
    <span>${t.aRetryNeedsTheSameFileAnd(match)} ${found && html`<${OtherWays} found=${found} />`}</span>
  `
}

const OtherWays = ({found}: {found: Imported}) => {
  const fields = useFields(
    found.connectorId,
    findRepeatingFlows(found).map(({module}) => module),
  )
  const repeating = findRepeatingFlows(found, fields.data)
  if (repeating.length === 0)
    return html`${t.or} <a href=${to('imports', found.id, 'review')}>${t.startANewRun}</a>${t.itFindsTheWrittenRecordsAndCreates}`
  const mapping = html`<a href=${to('imports', found.id, 'match')}>${stepLabels.match}</a>`
  return html`
    ${t.orRestoreTheFileAndUploadThe} <a href=${to('imports', found.id, 'results')}>${t.results}</a> ${t.pageTheyAreMatchedToTheirRows}
    ${
      repeating.every(({matchBy}) => matchBy)
        ? html` ${t.toRunTheWholeCorrectedFileFirst(mapping, sayMatchBy(repeating))}`
        : html` ${t.aNewRunWouldCreateWrittenRecords(sayModules(repeating))}`
    }
  `
}

const sayMatchBy = (repeating: ReturnType<typeof findRepeatingFlows>): string =>
  repeating.map(({module, matchBy}) => t.by(sayName(module), matchBy!.label)).join(', ')
