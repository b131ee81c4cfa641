import {useState} from 'preact/hooks'
import {html} from '../html.ts'
import {useKept} from '../state/kept.ts'
import {useDoing} from '../state/load.ts'
import {client, inOrg} from '../state/session.ts'
import {t} from '../text/settings.ts'
import {Button} from '../ui/button.ts'
import {Dialog} from '../ui/dialog.ts'
import {TextArea} from '../ui/field.ts'
import {Problem, say} from '../ui/notice.ts'
import type {Library} from './libraries.ts'

const firstManifest = {
  namespace: 'names',
  version: '1.0.0',
  scope: 'org',
  description: 'How we write names',
  functions: [
    {
      name: 'full',
      description: 'First and last name, separated by a space',
      parameters: [{name: 'first'}, {name: 'last'}],
      returns: 'text',
      examples: [{arguments: ['Ana', 'Ruiz'], result: 'Ana Ruiz'}],
    },
  ],
}
const firstSource = `export const full = (first, last) => [first, last].filter(Boolean).join(' ')\n`

type PublishProps = {library?: Library; again: () => void; onClose: () => void}

/** Publishes a new library or a new version of one. The server first loads the library and runs its examples. */
export const Publish = ({library, again, onClose}: PublishProps) => {
  const about = library ? `library.${library.namespace}.${library.versionNumber}` : 'library.new'
  const [manifest, setManifest, forgetManifest] = useKept(`${about}.manifest`, JSON.stringify(library?.manifest ?? firstManifest, null, 2))
  const [source, setSource, forgetSource] = useKept(`${about}.source`, library?.source ?? firstSource)
  const [isWrong, setWrong] = useState<string | null>(null)
  const publish = useDoing(async () => {
    const read = readManifest(manifest)
    setWrong(typeof read === 'string' ? read : null)
    if (typeof read === 'string') return
    await client.put(inOrg(`/libraries/${encodeURIComponent(read.namespace)}`), {manifest: read, source})
    say(t.publishedLibrary(read.namespace, read.version))
    forgetManifest()
    forgetSource()
    onClose()
    again()
  })
  const actions = html`<${Button} onClick=${onClose}>${t.cancel}<//><${Button} kind="main" isBusy=${publish.isBusy} onClick=${() => publish.run()}>${t.publish}<//>`
  return html`
    <${Dialog} title=${library ? t.publishNewVersionOf(library.namespace) : t.publishLibrary} onClose=${onClose} actions=${actions}>
      <${TextArea} label=${t.manifest} hint=${t.jsonTheLibrarysNameVersionAnd} rows="10" error=${isWrong} value=${manifest} onInput=${setManifest} />
      <${TextArea} label=${t.source} hint=${t.aJavascriptModuleThatExportsThese} rows="8" value=${source} onInput=${setSource} />
      <${Problem} error=${publish.error} />
    <//>
  `
}

const readManifest = (text: string): {namespace: string; version: string} | string => {
  try {
    const read = JSON.parse(text)
    return typeof read?.namespace === 'string' ? read : t.addANamespace
  } catch (error) {
    return (error as Error).message
  }
}
