import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {Run} from '../runs/run.ts'
import {canUndo, readUndo, startUndo} from '../runs/undo.ts'
import {useDoing, useLoad} from '../state/load.ts'
import {goIfHere, to} from '../state/place.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {Menu} from '../ui/menu.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Imported} from './import.ts'
import {DeleteImport, RenameImport} from './rename.ts'

export type ListedImport = Omit<Imported, 'sources' | 'slots'>
type ListMenuProps = {found: ListedImport; run: Run | undefined; again: () => void}

/** The actions on one import of the list. Whether its last run can be undone is asked when the menu opens. */
export const ListMenu = ({found, run, again}: ListMenuProps) => {
  const {id, name, archivedAt} = found
  const [asked, setAsked] = useState<'rename' | 'delete' | null>(null)
  const [hasOpened, setOpened] = useState(false)
  const isArchived = Boolean(archivedAt)
  const archive = useDoing(async () => {
    await client.patch(inOrg(`/imports/${id}`), {archived: !isArchived})
    say(isArchived ? t.isListedAgain(name) : t.archived(name))
    again()
  })
  const undo = useDoing(async () => {
    const goOn = goIfHere()
    goOn(to('imports', id, 'run', {run: await startUndo(id, run!.id, {dryRun: true})}))
  })
  // Without an answer, the results page still offers the undo.
  const offer = useLoad(
    async signal => (hasOpened && run && canUndo(run) && may('builder') ? readUndo(id, run.id, signal) : null),
    [hasOpened, run?.id],
  )
  return html`
    <${Menu} label=${t.actionsFor(name)} onOpen=${() => setOpened(true)}>
      <${Button} kind="quiet" onClick=${() => setAsked('rename')}>${t.rename}<//>
      ${offer.data?.available && html`<${Button} kind="quiet" onClick=${() => undo.run()}>${t.previewUndoOfLastRun}<//>`}
      <${Button} kind="quiet" onClick=${() => archive.run()}>${isArchived ? t.unarchive : t.archive}<//>
      ${mayDelete(found) && html`<${Button} kind="quiet" onClick=${() => setAsked('delete')}>${t.deleteWord}<//>`}
    <//>
    <${Problem} error=${archive.error} title=${t.couldNotArchiveTheImport} />
    <${Problem} error=${undo.error} title=${t.couldNotPreviewTheUndo} />
    ${asked === 'rename' && html`<${RenameImport} found=${found} onClose=${() => setAsked(null)} onDone=${again} />`}
    ${asked === 'delete' && html`<${DeleteImport} found=${found} onClose=${() => setAsked(null)} onDone=${again} />`}
  `
}

/** Whether the person may delete the import: its creator and admins may, unless a run is active. */
const mayDelete = ({state, createdBy}: ListedImport) => state !== 'running' && (createdBy === me.value?.user.id || may('admin'))
