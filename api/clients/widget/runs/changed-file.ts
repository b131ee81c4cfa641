import {html} from '../html.ts'
import type {Imported} from '../imports/import.ts'
import {useFields} from '../imports/module-data.ts'
import {useLoad} from '../state/load.ts'
import {to} from '../state/place.ts'
import {client, inOrg} from '../state/session.ts'
import {sayName} from '../ui/labels.ts'
import {findRepeatingFlows, sayModules} from './new-run.ts'

/** Advice if a retry was refused because the file changed. It suggests a new run only if that creates no record twice. */
export const ChangedFile = ({importId}: {importId: string}) => {
  const {data: found} = useLoad<Imported>(
    async signal => (await client.get<{import: Imported}>(inOrg(`/imports/${importId}`), {}, signal)).import,
    [importId],
  )
  const files = html`<a href=${to('imports', importId, 'match')}>Files</a>`
  return html`
    <span>A retry needs the same file and file options as the run. Restore them under ${files}. ${found && html`<${OtherWays} found=${found} />`}</span>
  `
}

const OtherWays = ({found}: {found: Imported}) => {
  const fields = useFields(
    found.connectorId,
    findRepeatingFlows(found).map(({module}) => module),
  )
  const repeating = findRepeatingFlows(found, fields.data)
  if (repeating.length === 0)
    return html`Or <a href=${to('imports', found.id, 'run', {new: 'yes'})}>start a new run</a>: it finds the written records and creates none twice.`
  const mapping = html`<a href=${to('imports', found.id, 'match')}>Mapping</a>`
  return html`
    Or restore the file, and upload the corrected rows on the <a href=${to('imports', found.id, 'results')}>Results</a> page. They are matched to their rows, and no row is written twice.
    ${
      repeating.every(({matchBy}) => matchBy)
        ? html` To run the whole corrected file, first match existing records under ${mapping}: ${sayMatchBy(repeating)}.`
        : html` A new run would create written records of ${sayModules(repeating)} again.`
    }
  `
}

const sayMatchBy = (repeating: ReturnType<typeof findRepeatingFlows>): string =>
  repeating.map(({module, matchBy}) => `${sayName(module)} by ${matchBy!.label}`).join(', ')
