import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import type {Run} from '../runs/run.ts'
import {useUndo} from '../runs/undo.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, may, me} from '../state/session.ts'
import {t} from '../text/files.ts'
import {Button} from '../ui/button.ts'
import {Menu} from '../ui/menu.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Imported} from './import.ts'
import {DeleteImport, RenameImport} from './rename.ts'

/** An import in the list. `lastRun`: the newest run that is not a dry run. Absent in earlier versions of Lading. */
export type ListedImport = Omit<Imported, 'sources' | 'slots'> & {lastRun?: Run | null}
type ListMenuProps = {found: ListedImport; run: Run | undefined; again: () => void}

/** The menu of one import in the list. When the menu opens, it asks the API whether the last run can be undone. */
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
  // A failed request is not shown, because the results page offers the undo too.
  const {preview: undo, offer} = useUndo(id, run, hasOpened)
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

/** Whether the person may delete the import: the import's creator and admins may, unless a run is active. */
const mayDelete = ({state, createdBy}: ListedImport) => state !== 'running' && (createdBy === me.value?.user.id || may('admin'))
