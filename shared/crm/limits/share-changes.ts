import {shareChannel} from '../../../sql/budgets.ts'
import type {CrmOrg} from '../../../sql/crm-quota.ts'
import {type Listener, openListener} from '../../../sql/listener.ts'
import {findDirectUrl} from '../../../sql/pooler.ts'
import type {Config} from '../../config.ts'
import type {Log} from '../../telemetry/log.ts'

/** Notifications about changes that other processes make to the slots of this process. */
export type ShareChanges = {
  /** Calls `onChange` after each notification for this org, and when listening begins or ends. */
  watch(org: CrmOrg, onChange: () => void): void
  /** While this is false, a process learns of changes only by polling. */
  isListening(): boolean
  close(): Promise<void>
}

type ShareChangesInput = {config: Pick<Config, 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>; log: Log; holder: string}

/** Opens the notifications of one holder. The first `watch` connects to Postgres, unless only a pooler URL is configured. */
export const openShareChanges = ({config, log, holder}: ShareChangesInput): ShareChanges => {
  const url = findDirectUrl(config.DATABASE_URL, config.DATABASE_DIRECT_URL)
  const watchers = new Map<string, () => void>()
  let listener: Listener | undefined
  let isOutageLogged = false

  const wakeAll = () => {
    for (const onChange of watchers.values()) onChange()
  }
  const listen = (url: string) =>
    openListener({
      url,
      channel: shareChannel,
      onMessage(payload) {
        const [to, org] = payload.split(' ')
        if (to === holder) watchers.get(org!)?.()
      },
      onBegin() {
        if (isOutageLogged) log.info('listening for changes of CRM slots again')
        isOutageLogged = false
        wakeAll()
      },
      onEnd(err) {
        if (!isOutageLogged) log.warn({err}, 'cannot listen for changes of CRM slots; polling until the connection is back')
        isOutageLogged = true
        wakeAll()
      },
    })
  return {
    watch({dc, crmOrgId}, onChange) {
      watchers.set(`${dc}.${crmOrgId}`, onChange)
      if (url !== null) listener ??= listen(url)
      else if (!isOutageLogged) {
        isOutageLogged = true
        log.info('polling for changes of CRM slots, because DATABASE_URL leads through a pooler and DATABASE_DIRECT_URL is not set')
      }
    },
    isListening: () => listener?.isListening() ?? false,
    close: async () => listener?.close(),
  }
}
