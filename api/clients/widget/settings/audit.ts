import {useRef, useState} from 'preact/hooks'
import {html} from '../html.ts'
import {saveStream} from '../runs/save.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg, isAtLeast} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {bytes} from '../ui/format.ts'
import {Problem, say} from '../ui/notice.ts'

export const AuditDownload = () => {
  const [got, setGot] = useState<string | null>(null)
  const stop = useRef<AbortController | null>(null)
  const doing = useDoing(async () => {
    stop.current = new AbortController()
    const {signal} = stop.current
    const open = () => client.open('GET', inOrg('/audit'), {signal, timeoutMs: Number.POSITIVE_INFINITY})
    try {
      const size = await saveStream('audit.ndjson', open, sent => setGot(bytes(sent)))
      if (size !== null) say(t.auditNdjsonSaved(bytes(size)))
    } catch (error) {
      if (!signal.aborted) throw error
    } finally {
      setGot(null)
    }
  })
  if (!isAtLeast('admin')) return null
  return html`
    <div class="actions">
      <${Button} isBusy=${doing.isBusy} onClick=${() => doing.run()}>${t.downloadAuditLog}${got && ` · ${got}`}<//>
      ${doing.isBusy && html`<${Button} kind="quiet" onClick=${() => stop.current?.abort()}>${t.stop}<//>`}
    </div>
    <p class="hint settings-hint">${t.theFileAlsoHasSignInsRuns}</p>
    <${Problem} error=${doing.error} again=${() => doing.run()} />
  `
}
