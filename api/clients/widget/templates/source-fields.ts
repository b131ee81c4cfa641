import {html} from '../html.ts'
import {Select, TextArea, TextField} from '../ui/field.ts'
import type {SourceDraft} from './source-draft.ts'

type FieldsProps = {draft: SourceDraft; kept: readonly string[]; set: (change: Partial<SourceDraft>) => void}

const kinds = [
  {value: 'https', label: 'A web server'},
  {value: 's3', label: 'A bucket (S3)'},
  {value: 'sftp', label: 'A server over SSH (SFTP)'},
]

/** Where the file is fetched from. What lets one in is asked for and never shown: left empty, what is kept stays. */
export const SourceFields = ({draft, kept, set}: FieldsProps) => html`
  <fieldset>
    <legend>Where the file is</legend>
    <${Select} label="Fetched from" value=${draft.kind} options=${kinds} onChange=${(kind: string) => set({kind: kind as SourceDraft['kind']})} />
    ${draft.kind === 'https' && html`<${Https} draft=${draft} kept=${kept} set=${set} />`}
    ${draft.kind === 's3' && html`<${S3} draft=${draft} kept=${kept} set=${set} />`}
    ${draft.kind === 'sftp' && html`<${Sftp} draft=${draft} kept=${kept} set=${set} />`}
  </fieldset>
`

const keptHint = (kept: readonly string[], name: string) => (kept.includes(name) ? 'One is kept. Left empty, it stays.' : undefined)

const Https = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label="Address" hint="The due date may stand in it, like {date:yyyy-MM-dd}" type="url" required value=${draft.url} onInput=${(url: string) => set({url})} />
  <${Select}
    label="Let in by"
    value=${draft.letIn}
    options=${[{value: 'open', label: 'Nothing'}, {value: 'bearer', label: 'A bearer token'}, {value: 'basic', label: 'User and password'}]}
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
  <${TextField} label="Key" hint="The due date may stand in it, like {date:yyyy-MM-dd}" required value=${draft.key} onInput=${(key: string) => set({key})} />
  <${TextField} label="Region" value=${draft.region} onInput=${(region: string) => set({region})} />
  <${TextField} label="Endpoint" hint="Of a store other than Amazon’s" type="url" value=${draft.endpoint} onInput=${(endpoint: string) => set({endpoint})} />
  <${TextField} label="Access key id" required autocomplete="off" value=${draft.accessKeyId} onInput=${(accessKeyId: string) => set({accessKeyId})} />
  <${TextField} label="Secret access key" hint=${keptHint(kept, 'secretAccessKey')} type="password" autocomplete="new-password" value=${draft.secretAccessKey} onInput=${(secretAccessKey: string) => set({secretAccessKey})} />
`

const Sftp = ({draft, kept, set}: FieldsProps) => html`
  <${TextField} label="Host" required value=${draft.host} onInput=${(host: string) => set({host})} />
  <${TextField} label="Port" type="number" min="1" max="65535" required value=${draft.port} onInput=${(port: string) => set({port})} />
  <${TextField} label="Path" hint="The due date may stand in it, like {date:yyyy-MM-dd}" required value=${draft.path} onInput=${(path: string) => set({path})} />
  <${TextField} label="The host’s key" hint="SHA256:…, as “ssh-keyscan host | ssh-keygen -lf -” shows it" required value=${draft.hostKey} onInput=${(hostKey: string) => set({hostKey})} />
  <${TextField} label="User" required autocomplete="off" value=${draft.user} onInput=${(user: string) => set({user})} />
  <${TextField} label="Password" hint=${keptHint(kept, 'password') ?? 'Or a private key'} type="password" autocomplete="new-password" value=${draft.password} onInput=${(password: string) => set({password})} />
  <${TextArea} label="Private key" hint=${keptHint(kept, 'privateKey') ?? 'As OpenSSH writes it'} value=${draft.privateKey} onInput=${(privateKey: string) => set({privateKey})} />
`
