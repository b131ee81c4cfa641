/** The script `/embed.js` for pages that embed an import. It has no imports and no exports, so a plain `<script src>` loads it. */
{
  type Token = () => string | Promise<string>
  type OpenOptions = {template: string; token: Token; server?: string}

  const own = new URL((document.currentScript as HTMLScriptElement).src).origin
  const passedOn = ['lading:run', 'lading:end']

  /**
   * The element `<lading-import template="tpl_…">`. Its property `token` is a function that returns an embed token. `server`: the origin of
   * Lading.
   */
  class LadingImport extends HTMLElement {
    static observedAttributes = ['server', 'template']
    /**
     * Returns an embed token, which the page gets from its own server. The frame calls this function for each session. A page may set it before
     * this script defines the element.
     */
    token: Token | null = (this as {token?: Token | null}).token ?? null
    #frame: HTMLIFrameElement | null = null

    constructor() {
      super()
      const early = Object.getOwnPropertyDescriptor(this, 'server')
      if (!early) return
      // If the page set the property before this script ran, that value hides the accessor.
      Reflect.deleteProperty(this, 'server')
      this.server = early.value
    }

    get server(): string {
      return new URL(this.getAttribute('server') ?? own).origin
    }

    /** Sets the attribute, because frameworks such as React assign the property. */
    set server(origin: string) {
      this.setAttribute('server', origin)
    }

    connectedCallback(): void {
      addEventListener('message', this.#hear)
      this.#draw()
    }

    disconnectedCallback(): void {
      removeEventListener('message', this.#hear)
      this.#frame?.remove()
      this.#frame = null
    }

    attributeChangedCallback(): void {
      if (this.isConnected) this.#draw()
    }

    #draw(): void {
      const template = this.getAttribute('template')
      this.#frame?.remove()
      this.#frame = null
      if (!template) return
      const frame = document.createElement('iframe')
      frame.title = this.getAttribute('title') ?? 'Import'
      frame.src = `${this.server}/embed?${new URLSearchParams({template, origin: location.origin, ...this.#findOuterPage()})}`
      frame.style.cssText = 'display:block;width:100%;min-height:12rem;border:0'
      this.#frame = frame
      this.append(frame)
    }

    /**
     * Finds the origin of the outermost page around this one, such as the CRM around a web tab. Browsers without `ancestorOrigins` need the
     * attribute `within`.
     */
    #findOuterPage(): {within?: string} {
      const within = this.getAttribute('within') ?? [...(location.ancestorOrigins ?? [])].at(-1)
      return within && within !== location.origin ? {within} : {}
    }

    /** Handles messages of this element's frame, while the frame shows a page of the Lading server. All other messages are ignored. */
    readonly #hear = async ({source, origin, data}: MessageEvent): Promise<void> => {
      const frame = this.#frame
      if (!frame || source !== frame.contentWindow || origin !== this.server) return
      if (data?.type === 'lading:ready') {
        const answer = await this.#askForToken()
        // The frame may have been replaced meanwhile.
        if (frame === this.#frame) frame.contentWindow?.postMessage({type: 'lading:session', ...answer}, this.server)
      }
      if (data?.type === 'lading:height' && Number.isFinite(data.height))
        frame.style.height = `${Math.min(Math.max(data.height, 0), 20_000)}px`
      if (['lading:ready', ...passedOn].includes(data?.type)) this.dispatchEvent(new CustomEvent(data.type, {detail: data, bubbles: true}))
    }

    async #askForToken(): Promise<{token: string} | {error: string}> {
      // An empty error makes the frame say that the page provides no access.
      if (!this.token) return {error: ''}
      try {
        return {token: await this.token()}
      } catch (error) {
        return {error: error instanceof Error ? error.message : String(error)}
      }
    }
  }

  /** Opens the import in a dialog. When the dialog closes, resolves with the last `lading:end` message, or with null if no run ended. */
  const open = ({template, token, server = own}: OpenOptions): Promise<object | null> => {
    const {promise, resolve} = Promise.withResolvers<object | null>()
    const dialog = document.createElement('dialog')
    dialog.style.cssText = 'width:min(64rem,94vw);max-height:94vh;padding:1rem;border:1px solid #8888;border-radius:8px;overflow:auto'
    const close = document.createElement('button')
    close.type = 'button'
    close.textContent = '✕'
    close.ariaLabel = document.documentElement.lang.startsWith('de') ? 'Schließen' : 'Close'
    close.style.cssText = 'float:right'
    close.addEventListener('click', () => dialog.close())
    // The element may have been defined by an earlier copy of this script.
    const element = document.createElement('lading-import') as LadingImport
    element.setAttribute('server', server)
    element.setAttribute('template', template)
    element.token = token
    let ended: object | null = null
    element.addEventListener('lading:end', event => {
      ended = (event as CustomEvent).detail
    })
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(ended)
    })
    dialog.append(close, element)
    document.body.append(dialog)
    dialog.showModal()
    return promise
  }

  if (!customElements.get('lading-import')) customElements.define('lading-import', LadingImport)
  Object.assign(globalThis, {Lading: {open}})
}
