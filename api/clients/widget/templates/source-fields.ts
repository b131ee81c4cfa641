import {html} from '../html.ts'
import {t} from '../text/schedules.ts'
import {Check, Select, TextArea, TextField} from '../ui/field.ts'
import {type SourceDraft, usualPorts} from './source-draft.ts'

type FieldsProps = {draft: SourceDraft; kept: readonly string[]; set: (change: Partial<SourceDraft>) => void}

const kinds = [
  {value: 'https', label: t.webServerHttps},
  {value: 's3', label: t.bucketS3},
  {value: 'sftp', label: t.sftpServer},
  {value: 'postgres', label: t.postgresqlQuery},
  {value: 'mysql', label: t.mysqlQuery},
]

/** Stored credentials are never shown. An empty input keeps the stored credential. */
export const SourceFields = ({draft, kept, set}: FieldsProps) => html`
  <fieldset>
    <legend>${t.fileSource}</legend>
    <${Select} label=${t.type} value=${draft.kind} options=${kinds} onChange=${(kind: string) => set({kind: kind as SourceDraft['kind'], port: usualPorts[kind] ?? ''})} />
    ${draft.kind === 'https' && html`<${Https} draft=${draft} kept=${kept} set=${set} />`}
    ${draft.kind === 's3' && html`<${S3} draft=${draft} kept=${kept} set=${set} />`}
    ${draft.kind === 'sftp' && html`<${Sftp} draft=${draft} kept=${kept} set=${set} />`}
    ${(draft.kind === 'postgres' || draft.kind === 'mysql') && html`<${Database} draft=${draft} kept=${kept} set=${set} />`}
  </fieldset>
`

const keptHint = (kept: readonly string[], name: string) => (kept.includes(name) ? t.leaveEmptyToKeepTheStoredValue : undefined)

/** A stored user and password are replaced together, because the API returns neither of them. */
const needsBasic = ({user, password}: SourceDraft, kept: readonly string[]) => user !== '' || password !== '' || !kept.includes('basic')

/** The stored credentials that have no input, each with the label of the choice to keep it. */
const hidden = [
  {name: 'query', label: t.keepTheStoredQuery},
  {name: 'headers', label: t.keepTheStoredHeaders},
]

const Https = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label=${t.url} hint=${t.mayContainTheDueDateForExample} type="url" required value=${draft.url} onInput=${(url: string) => set({url})} />
  ${hidden
    .filter(({name}) => kept.includes(name))
    .map(({name, label}) => {
      const others = draft.removed.filter(one => one !== name)
      return html`<${Check} label=${label} hint=${t.anotherUrlRemovesIt} checked=${!draft.removed.includes(name)} onChange=${(keeps: boolean) => set({removed: keeps ? others : [...others, name]})} />`
    })}
  <${Select}
    label=${t.authentication}
    value=${draft.letIn}
    options=${[{value: 'open', label: t.none}, {value: 'bearer', label: t.bearerToken}, {value: 'basic', label: t.userAndPassword}]}
    onChange=${(letIn: string) => set({letIn: letIn as SourceDraft['letIn']})}
  />
  ${draft.letIn === 'bearer' && html`<${TextField} label=${t.token} hint=${keptHint(kept, 'bearer')} type="password" autocomplete="off" value=${draft.bearer} onInput=${(bearer: string) => set({bearer})} />`}
  ${
    draft.letIn === 'basic' &&
    html`
      <${TextField} label=${t.user} hint=${keptHint(kept, 'basic')} required=${needsBasic(draft, kept)} autocomplete="off" value=${draft.user} onInput=${(user: string) => set({user})} />
      <${TextField} label=${t.password} hint=${keptHint(kept, 'basic')} required=${needsBasic(draft, kept)} type="password" autocomplete="new-password" value=${draft.password} onInput=${(password: string) => set({password})} />
    `
  }
`

const S3 = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label=${t.bucket} required value=${draft.bucket} onInput=${(bucket: string) => set({bucket})} />
  <${TextField} label=${t.key} hint=${t.mayContainTheDueDateForExample} required value=${draft.key} onInput=${(key: string) => set({key})} />
  <${TextField} label=${t.region} value=${draft.region} onInput=${(region: string) => set({region})} />
  <${TextField} label=${t.endpoint} hint=${t.forS3CompatibleStoresOtherThan} type="url" value=${draft.endpoint} onInput=${(endpoint: string) => set({endpoint})} />
  <${TextField} label=${t.accessKeyId} required autocomplete="off" value=${draft.accessKeyId} onInput=${(accessKeyId: string) => set({accessKeyId})} />
  <${TextField} label=${t.secretAccessKey} hint=${keptHint(kept, 'secretAccessKey')} type="password" autocomplete="new-password" value=${draft.secretAccessKey} onInput=${(secretAccessKey: string) => set({secretAccessKey})} />
`

const Sftp = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label=${t.host} required value=${draft.host} onInput=${(host: string) => set({host})} />
  <${TextField} label=${t.port} type="number" min="1" max="65535" required value=${draft.port} onInput=${(port: string) => set({port})} />
  <${TextField} label=${t.path} hint=${t.mayContainTheDueDateForExample} required value=${draft.path} onInput=${(path: string) => set({path})} />
  <${TextField} label=${t.hostKeyFingerprint} hint=${t.fingerprintHint} required value=${draft.hostKey} onInput=${(hostKey: string) => set({hostKey})} />
  <${TextField} label=${t.user} required autocomplete="off" value=${draft.user} onInput=${(user: string) => set({user})} />
  <${TextField} label=${t.password} hint=${keptHint(kept, 'password') ?? t.orAPrivateKey} type="password" autocomplete="new-password" value=${draft.password} onInput=${(password: string) => set({password})} />
  <${TextArea} label=${t.privateKey} hint=${keptHint(kept, 'privateKey') ?? t.inOpensshFormat} value=${draft.privateKey} onInput=${(privateKey: string) => set({privateKey})} />
  <${TextField} label=${t.passphrase} hint=${keptHint(kept, 'passphrase') ?? t.onlyIfTheKeyIsEncrypted} type="password" autocomplete="off" value=${draft.passphrase} onInput=${(passphrase: string) => set({passphrase})} />
`

const Database = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label=${t.host} required value=${draft.host} onInput=${(host: string) => set({host})} />
  <${TextField} label=${t.port} type="number" min="1" max="65535" required value=${draft.port} onInput=${(port: string) => set({port})} />
  <${TextField} label=${t.database} required value=${draft.database} onInput=${(database: string) => set({database})} />
  <${TextField} label=${t.user} hint=${t.aUserThatMayOnlyRead} required autocomplete="off" value=${draft.user} onInput=${(user: string) => set({user})} />
  <${TextField} label=${t.password} hint=${keptHint(kept, 'password')} type="password" autocomplete="new-password" value=${draft.password} onInput=${(password: string) => set({password})} />
  <${TextArea} label=${t.query} hint=${t.oneSelectStatement} required value=${draft.query} onInput=${(query: string) => set({query})} />
  <${Select}
    label=${t.encryption}
    value=${draft.tls}
    options=${[{value: 'true', label: t.tlsWithAVerifiedCertificate}, {value: 'false', label: t.noneInThePrivateNetwork}]}
    onChange=${(tls: string) => set({tls})}
  />
  ${draft.tls === 'true' && html`<${TextArea} label=${t.certificateAuthority} hint=${t.onlyIfItIsNotPublic} value=${draft.ca} onInput=${(ca: string) => set({ca})} />`}
`
