/** `embed`: the origin that may embed this page, and the template that its imports use. Null on the widget's own page. */
export type Settings = {dataCentres: string[]; embed: {origin: string; template: string} | null}

/** The settings that the server embeds into the page. */
export const settings: Settings = JSON.parse(document.getElementById('settings')!.textContent!)
