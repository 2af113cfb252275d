import { effect, signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const key = 'tenon-inspector-theme'

/** The colours that the user chose; the system's by default. */
export const theme = signal<Theme>(themes.find((name) => name === localStorage.getItem(key)) ?? 'system')

effect(() => {
  document.documentElement.dataset.theme = theme.value
  localStorage.setItem(key, theme.value)
})
