import {html} from '../html.ts'
import {Select, TextArea, TextField} from '../ui/field.ts'
import type {SourceDraft} from './source-draft.ts'

type FieldsProps = {draft: SourceDraft; kept: readonly string[]; set: (change: Partial<SourceDraft>) => void}

const kinds = [
  {value: 'https', label: 'Web server (HTTPS)'},
  {value: 's3', label: 'Bucket (S3)'},
  {value: 'sftp', label: 'SFTP server'},
]

/** Input fields for the source of the file. Stored credentials are never shown; an empty field keeps the stored one. */
export const SourceFields = ({draft, kept, set}: FieldsProps) => html`
  <fieldset>
    <legend>File source</legend>
    <${Select} label="Type" value=${draft.kind} options=${kinds} onChange=${(kind: string) => set({kind: kind as SourceDraft['kind']})} />
    ${draft.kind === 'https' && html`<${Https} draft=${draft} kept=${kept} set=${set} />`}
    ${draft.kind === 's3' && html`<${S3} draft=${draft} kept=${kept} set=${set} />`}
    ${draft.kind === 'sftp' && html`<${Sftp} draft=${draft} kept=${kept} set=${set} />`}
  </fieldset>
`

const keptHint = (kept: readonly string[], name: string) => (kept.includes(name) ? 'Leave empty to keep the stored value.' : undefined)

const Https = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label="URL" hint="May contain the due date, for example {date:yyyy-MM-dd}" type="url" required value=${draft.url} onInput=${(url: string) => set({url})} />
  <${Select}
    label="Authentication"
    value=${draft.letIn}
    options=${[{value: 'open', label: 'None'}, {value: 'bearer', label: 'Bearer token'}, {value: 'basic', label: 'User and password'}]}
    onChange=${(letIn: string) => set({letIn: letIn as SourceDraft['letIn']})}
  />
  ${draft.letIn === 'bearer' && html`<${TextField} label="Token" hint=${keptHint(kept, 'bearer')} type="password" autocomplete="off" value=${draft.bearer} onInput=${(bearer: string) => set({bearer})} />`}
  ${
    draft.letIn === 'basic' &&
    html`
      <${TextField} label="User" autocomplete="off" value=${draft.user} onInput=${(user: string) => set({user})} />
      <${TextField} label="Password" hint=${keptHint(kept, 'basic')} type="password" autocomplete="new-password" value=${draft.password} onInput=${(password: string) => set({password})} />
    `
  }
`

const S3 = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label="Bucket" required value=${draft.bucket} onInput=${(bucket: string) => set({bucket})} />
  <${TextField} label="Key" hint="May contain the due date, for example {date:yyyy-MM-dd}" required value=${draft.key} onInput=${(key: string) => set({key})} />
  <${TextField} label="Region" value=${draft.region} onInput=${(region: string) => set({region})} />
  <${TextField} label="Endpoint" hint="For S3-compatible stores other than Amazon S3" type="url" value=${draft.endpoint} onInput=${(endpoint: string) => set({endpoint})} />
  <${TextField} label="Access key id" required autocomplete="off" value=${draft.accessKeyId} onInput=${(accessKeyId: string) => set({accessKeyId})} />
  <${TextField} label="Secret access key" hint=${keptHint(kept, 'secretAccessKey')} type="password" autocomplete="new-password" value=${draft.secretAccessKey} onInput=${(secretAccessKey: string) => set({secretAccessKey})} />
`

const Sftp = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label="Host" required value=${draft.host} onInput=${(host: string) => set({host})} />
  <${TextField} label="Port" type="number" min="1" max="65535" required value=${draft.port} onInput=${(port: string) => set({port})} />
  <${TextField} label="Path" hint="May contain the due date, for example {date:yyyy-MM-dd}" required value=${draft.path} onInput=${(path: string) => set({path})} />
  <${TextField} label="Host key fingerprint" hint="SHA256:…, from “ssh-keyscan host | ssh-keygen -lf -”" required value=${draft.hostKey} onInput=${(hostKey: string) => set({hostKey})} />
  <${TextField} label="User" required autocomplete="off" value=${draft.user} onInput=${(user: string) => set({user})} />
  <${TextField} label="Password" hint=${keptHint(kept, 'password') ?? 'Or a private key'} type="password" autocomplete="new-password" value=${draft.password} onInput=${(password: string) => set({password})} />
  <${TextArea} label="Private key" hint=${keptHint(kept, 'privateKey') ?? 'In OpenSSH format'} value=${draft.privateKey} onInput=${(privateKey: string) => set({privateKey})} />
`
