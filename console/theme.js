// A classic script in the head: the stored theme holds before the first paint.
try {
  const { theme, compact } = JSON.parse(localStorage.getItem('idadmin') || '{}');
  if (theme) document.documentElement.dataset.theme = theme;
  if (compact) document.documentElement.dataset.compact = '';
} catch { /* no storage: the system's theme */ }
