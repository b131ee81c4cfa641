export type Settings = {dataCentres: string[]}

/** What the server told this page of itself as it was made. */
export const settings: Settings = JSON.parse(document.getElementById('settings')!.textContent!)
